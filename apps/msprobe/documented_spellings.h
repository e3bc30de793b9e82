// SPDX-License-Identifier: Apache-2.0
// The documents spell options in ways a parser cannot declare (-api_info, -csv_path, -o=DIR, long
// prefixes); they are rewritten to the declared form before parsing.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace msprobe::app {

// What one command declares: long names without dashes, single letters, and the documented
// spellings with the long name each leads to: "-api_info" -> "api_info_file".
struct DeclaredOptions {
  std::vector<std::string> long_names;
  std::string letters;
  std::vector<std::pair<std::string, std::string>> spellings = {};
};

// Rewrites the arguments that follow the command's name. What it does not know is left for the
// parser to refuse.
std::vector<std::string> rewrite_spellings(std::span<const std::string> arguments,
                                           const DeclaredOptions& declared);

}  // namespace msprobe::app
