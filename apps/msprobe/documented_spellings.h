// The documents spell options in ways a parser cannot declare (-api_info, -csv_path, -o=DIR, long
// prefixes); they are rewritten to the declared form before parsing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe::app {

// What one command declares: long names without dashes, and single letters.
struct DeclaredOptions {
  std::vector<std::string> long_names;
  std::string letters;
};

// Rewrites the arguments that follow the command's name. What it does not know is left for the
// parser to refuse.
std::vector<std::string> rewrite_spellings(std::span<const std::string> arguments,
                                           const DeclaredOptions& declared);

// Every documented one-dash spelling with the long name it stands for: "-api_info" ->
// "api_info_file".
struct Spelling {
  std::string_view documented;
  std::string_view long_name;
};
std::span<const Spelling> documented_spellings();

}  // namespace msprobe::app
