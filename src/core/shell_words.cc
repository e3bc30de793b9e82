// SPDX-License-Identifier: Apache-2.0
#include "core/shell_words.h"

#include <algorithm>
#include <cctype>

namespace msprobe {
namespace {

// Bytes of other scripts mean nothing to a shell.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0 ||
         std::string_view("_/.-,:=@%+").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string_view next_shell_word(std::string_view& command) {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < command.size() && (quoted || command[end] != ' '); ++end) {
    if (command[end] == '\\' && !quoted && end + 1 < command.size()) {
      ++end;
    } else if (command[end] == '\'') {
      quoted = !quoted;
    }
  }
  const std::string_view word = command.substr(0, end);
  command.remove_prefix(std::min(end + 1, command.size()));
  return word;
}

std::string unquoted(std::string_view word) {
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\\' && !quoted && i + 1 < word.size()) {
      text += word[++i];
    } else if (word[i] == '\'') {
      quoted = !quoted;
    } else {
      text += word[i];
    }
  }
  return text;
}

}  // namespace msprobe
