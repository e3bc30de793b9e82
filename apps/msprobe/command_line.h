// From argv to the exit status: picks the command, parses its options, runs it.
#pragma once

#include <string>
#include <vector>

#include "exit_status.h"

namespace msprobe::app {

ExitStatus run_command_line(std::vector<std::string> arguments);

}  // namespace msprobe::app
