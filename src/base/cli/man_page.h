// SPDX-License-Identifier: Apache-2.0
// Manual pages for man(1), from the rows that the parser and the help text use.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/option_row.h"

namespace msprobe::cli {

// Of one command: `msprobe-acc_check(1)`.
std::string man_page(const CommandRow& command, std::string_view program, std::string_view version);

// Of the program: its commands in a list. `summary`: what it does, in one sentence.
std::string man_page(std::string_view program, std::string_view version, std::string_view summary,
                     std::span<const CommandRow> commands);

}  // namespace msprobe::cli
