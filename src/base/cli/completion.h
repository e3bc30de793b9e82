// SPDX-License-Identifier: Apache-2.0
// Scripts that complete a program's command line in bash, zsh and fish, made from the rows that the
// parser and the help text use.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_row.h"

namespace msprobe::cli {

// The shells completion_script() knows.
std::vector<std::string> completion_shells();

// REQUIRES: `shell` is one of completion_shells().
std::string completion_script(std::string_view shell, std::string_view program,
                              std::span<const CommandRow> commands);

}  // namespace msprobe::cli
