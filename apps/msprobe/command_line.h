// SPDX-License-Identifier: Apache-2.0
// From argv to the exit status: picks the command, parses its options, runs it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "exit_status.h"

namespace msprobe::app {

struct Program {
  std::string_view name;
  std::string_view summary;
  std::span<const Command> commands;
};

ExitStatus run_command_line(const Program& program, std::vector<std::string> arguments);

// What a main() does: starts the log, runs, and turns what was thrown into a line and a status.
int run_main(const std::function<ExitStatus()>& run);

// From now on: a signal that ends the program removes the files it has not finished; so does a file
// that got smaller while it was read through a mapping, with a line about it and status 2; and a
// file beyond its size limit is an error of its write, not a signal. Commands that stop in their
// own way (interrupt.h) take their signals before.
void end_cleanly();

// False: a line of standard output was lost. Somebody who closed the pipe did not want it.
bool standard_output_arrived();

// `msprobe help sim`: --sim-profile and --sim-config.
std::string sim_help(std::size_t columns);

}  // namespace msprobe::app
