// SPDX-License-Identifier: Apache-2.0
#include "dump/printable.h"

#include <algorithm>

#include <fmt/format.h>
#include <simdjson.h>

namespace msprobe::dump {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// At most `max_bytes`, without cutting a character in two.
std::string_view cut(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  const auto continues = [&] { return (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; };
  for (int steps = 0; steps < 3 && end > 0 && continues(); ++steps) --end;
  return text.substr(0, end);
}

}  // namespace

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

bool is_printable(std::string_view text) {
  return std::ranges::none_of(text, is_control) && is_utf8(text);
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  const std::string_view kept = cut(text, max_bytes);
  const bool utf8 = is_utf8(kept);
  std::string shown;
  for (const char c : kept) {
    const bool ascii = static_cast<unsigned char>(c) < 0x80;
    if (is_control(c) || (!ascii && !utf8)) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      shown += c;
    }
  }
  if (kept.size() < text.size()) shown += "...";
  return shown;
}

}  // namespace msprobe::dump
