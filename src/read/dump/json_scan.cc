// SPDX-License-Identifier: Apache-2.0
#include "dump/json_scan.h"

#include <vector>

namespace msprobe::dump {
namespace {

constexpr std::size_t kMaxOpenBrackets = 1 << 20;  // that find_mismatch remembers

}  // namespace

std::size_t container_end_reference(std::string_view text, std::size_t start) {
  std::size_t depth = 0;
  std::size_t at = start;
  while (at < text.size()) {
    switch (text[at]) {
      case '"':
        at = string_end(text, at);
        if (at == kNoEnd) return kNoEnd;
        continue;
      case '\\':
        if (at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\')) ++at;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (--depth == 0) return at + 1;
        break;
      default:
        break;
    }
    ++at;
  }
  return kNoEnd;
}

std::size_t string_end(std::string_view text, std::size_t start) {
  std::size_t from = start + 1;
  while (true) {
    const std::size_t quote = text.find('"', from);
    if (quote == kNoEnd) return kNoEnd;
    std::size_t backslashes = 0;
    while (text[quote - 1 - backslashes] == '\\') ++backslashes;  // ends at the opening quote
    if (backslashes % 2 == 0) return quote + 1;
    from = quote + 1;
  }
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) {
    ++at;
  }
  return at;
}

std::size_t scalar_end(std::string_view text, std::size_t start) {
  const std::size_t found = text.find_first_of(" \t\n\r,:{}[]\"", start);
  return found == std::string_view::npos ? text.size() : found;
}

std::optional<BracketMismatch> find_mismatch(std::string_view text) {
  std::vector<std::size_t> open;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      if (at == kNoEnd) return std::nullopt;
      continue;
    }
    if (c == '{' || c == '[') {
      if (open.size() == kMaxOpenBrackets) return std::nullopt;
      open.push_back(at);
    }
    if (c == '}' || c == ']') {
      if (open.empty()) return std::nullopt;
      if ((text[open.back()] == '{') != (c == '}')) return BracketMismatch{open.back(), at};
      open.pop_back();
    }
    ++at;
  }
  return std::nullopt;
}

}  // namespace msprobe::dump
