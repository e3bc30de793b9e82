// SPDX-License-Identifier: Apache-2.0
// A program that is stopped leaves no half-written file.
#pragma once

namespace msprobe::app {

// From now on: a signal that ends the program removes the files it has not finished; so does a file
// that got smaller while it was read through a mapping, with a line about it and status 2; and a
// file beyond its size limit is an error of its write, not a signal. Commands that stop in their
// own way (interrupt.h) take their signals before.
void end_cleanly();

// False: a line of standard output was lost. Somebody who closed the pipe did not want it.
bool standard_output_arrived();

}  // namespace msprobe::app
