// SPDX-License-Identifier: Apache-2.0
// `msprobe help sim`: what --sim-profile and --sim-config can ask of the simulated device.
#pragma once

#include <cstddef>
#include <string>

namespace msprobe::app {

std::string sim_help(std::size_t columns);

}  // namespace msprobe::app
