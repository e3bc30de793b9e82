// SPDX-License-Identifier: Apache-2.0
#include "cluster/command_text.h"

#include <vector>

namespace msprobe::cluster {

std::string encode_command(const engines::EngineCommand& command) {
  std::string text = command.program.string() + '\0';
  for (const std::string& word : command.arguments) text += word + '\0';
  return text;
}

engines::EngineCommand decode_command(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  if (words.empty()) return {};
  return {words.front(), {words.begin() + 1, words.end()}};
}

}  // namespace msprobe::cluster
