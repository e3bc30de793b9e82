// SPDX-License-Identifier: Apache-2.0
#include "core/shell_words.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include <fmt/format.h>

#include "core/visible_text.h"

namespace msprobe {
namespace {

// Bytes of other scripts mean nothing to a shell.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0 ||
         std::string_view("_/.-,:=@%+").find(c) != std::string_view::npos;
}

std::string in_quotes(std::string_view text) {
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

// "$(printf 'a\012b')". `%` and `\` mean something to printf.
std::string made_by_printf(std::string_view text) {
  const std::size_t end = text.find_last_not_of('\n') + 1;
  const std::string_view lines = text.substr(end);
  std::string word = "\"$(printf '";
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 ||
        std::string_view("_/.,:=@+ -").find(c) != std::string_view::npos) {
      word += c;
    } else {
      fmt::format_to(std::back_inserter(word), "\\{:03o}", byte);
    }
  }
  word += "')\"";
  return lines.empty() ? word : word + in_quotes(lines);
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!is_visible_line(text)) return made_by_printf(text);
  // zsh looks for a program behind a leading '='.
  const bool plain = !text.empty() && text.front() != '=' && std::ranges::all_of(text, is_plain);
  return plain ? std::string(text) : in_quotes(text);
}

std::string shell_path(const std::filesystem::path& path) {
  const std::string& text = path.native();
  return shell_word(text.starts_with('-') ? "./" + text : text);
}

std::string shell_command(std::span<const std::string> words) {
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + shell_word(word);
  return command;
}

std::optional<std::vector<std::string>> shell_split(std::string_view command) {
  std::vector<std::string> words;
  bool in_word = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == ' ') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'') {
      const std::size_t end = command.find('\'', i + 1);
      if (end == std::string_view::npos) return std::nullopt;
      words.back() += command.substr(i + 1, end - i - 1);
      i = end;
    } else if (c == '\\' && i + 1 < command.size() && command[i + 1] == '\'') {
      words.back() += command[++i];
    } else if (is_plain(c)) {
      words.back() += c;
    } else {
      return std::nullopt;
    }
  }
  return words;
}

}  // namespace msprobe
