// SPDX-License-Identifier: Apache-2.0
// The help text of a command, at most 80 columns wide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_row.h"

namespace msprobe::cli {

inline constexpr std::size_t kHelpColumns = 80;

// `program`: the word before the command's name.
std::string help_text(const CommandRow& command, std::string_view program);

// "-o, --out_path DIR", and its description with choices and default.
std::string option_words(const OptionRow& row);
std::string option_meaning(const OptionRow& row);

// Breaks text at spaces into lines of at most `columns` characters; a longer word has a line of its
// own.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

}  // namespace msprobe::cli
