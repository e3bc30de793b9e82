// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/help_text.h"
#include "command_line.h"
#include "sim/faults.h"

namespace msprobe::app {
namespace {

constexpr std::size_t kNameColumn = 22;

std::string row(std::string_view name, std::string_view summary, std::size_t columns) {
  std::string text;
  std::string first = fmt::format("  {}", name);
  for (const std::string& line : cli::wrap(summary, columns - kNameColumn)) {
    text += fmt::format("{:<{}}{}\n", first, kNameColumn, line);
    first.clear();
  }
  return text;
}

}  // namespace

std::string sim_help(std::size_t columns) {
  std::string text =
      "The simulated device (-d sim) computes as a chosen accelerator would, with chosen "
      "faults.\n\n"
      "Profiles, for --sim-profile (or unit:KEY=VALUE,..., see docs/sim.md):\n";
  for (const sim::ProfileRow& profile : sim::profiles()) {
    text += row(profile.name, profile.summary, columns);
  }
  text += "\nFaults, for a file passed with --sim-config:\n";
  for (const sim::FaultRow& fault : sim::faults()) text += row(fault.name, fault.summary, columns);
  return text +
         "\nSuch a file:\n"
         "  faults:\n"
         "    - {fault: wrong_tile, apis: [Functional.linear, matmul], direction: forward}\n"
         "    - {fault: lost_terms, operators: [convolution], dtypes: [float32]}\n";
}

}  // namespace msprobe::app
