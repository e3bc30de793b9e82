// SPDX-License-Identifier: Apache-2.0
#include "dump/printable.h"

#include <simdjson.h>

#include "core/visible_text.h"

namespace msprobe::dump {
namespace {

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

bool is_printable(std::string_view text) { return is_visible_line(text); }

std::string printable(std::string_view text, std::size_t max_bytes) {
  const std::string_view kept = cut(text, max_bytes);
  return visible_line(kept) + (kept.size() < text.size() ? "..." : "");
}

}  // namespace msprobe::dump
