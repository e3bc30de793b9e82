// SPDX-License-Identifier: Apache-2.0
// The help text of a command.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_row.h"

namespace msprobe::cli {

inline constexpr std::size_t kHelpColumns = 80;  // where no terminal says another width

// `program`: the word before the command's name. `columns`: the longest line; at least 60.
std::string help_text(const CommandRow& command, std::string_view program,
                      std::size_t columns = kHelpColumns);

// "-o, --out_path DIR", and its description with choices and default.
std::string option_words(const OptionRow& row);
std::string option_meaning(const OptionRow& row);

// The headings, in the order of their first options.
std::vector<std::string> groups_of(const std::vector<OptionRow>& rows);

// Breaks text at spaces into lines of at most `columns` characters; a longer word has a line of its
// own.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

}  // namespace msprobe::cli
