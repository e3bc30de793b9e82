// SPDX-License-Identifier: Apache-2.0
// From argv to the exit status: picks the command, parses its options, runs it.
#pragma once

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

}  // namespace msprobe::app
