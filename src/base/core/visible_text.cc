// SPDX-License-Identifier: Apache-2.0
#include "core/visible_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace msprobe {
namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};

constexpr char32_t kNonJoiner = 0x200c;
constexpr char32_t kJoiner = 0x200d;

constexpr auto kHidden = std::to_array<CodeRange>({
    {0x00, 0x1f},        // control characters
    {0x7f, 0x9f},        // and those of the second block
    {0x061c, 0x061c},    // Arabic letter mark
    {0x180e, 0x180e},    // Mongolian vowel separator
    {0x200b, 0x200f},    // no width, marks of direction
    {0x2028, 0x202e},    // separators of lines and paragraphs, direction
    {0x2060, 0x206f},    // no width, isolates of direction
    {0xfeff, 0xfeff},    // no width
    {0xfff9, 0xfffb},    // annotations
    {0xe0000, 0xe007f},  // tags
});

// Scripts whose letters change with the joiners, and emoji.
constexpr auto kJoining = std::to_array<CodeRange>(
    {{0x0600, 0x109f}, {0x1780, 0x18af}, {0x2600, 0x27bf}, {0xfe0f, 0xfe0f}, {0x10800, 0x1ffff}});

template <std::size_t kCount>
bool is_in(const std::array<CodeRange, kCount>& ranges, char32_t code) {
  return std::ranges::any_of(
      ranges, [code](const CodeRange& range) { return range.first <= code && code <= range.last; });
}

bool is_plain_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f;
}

// How many bytes a character has that starts with this one, and what it carries of the code.
struct Lead {
  std::size_t size = 0;  // 0: none starts with it
  char32_t bits = 0;
  char32_t least = 0;  // a smaller code has a shorter form
};
Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {.size = 1, .bits = byte, .least = 0};
  if (byte >= 0xc2 && byte <= 0xdf) return {2, byte & 0x1fU, 0x80};
  if (byte >= 0xe0 && byte <= 0xef) return {3, byte & 0x0fU, 0x800};
  if (byte >= 0xf0 && byte <= 0xf4) return {4, byte & 0x07U, 0x10000};
  return {};
}

Character decoded(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const Character broken{
      .bytes = text.substr(0, 1), .code = first, .is_hidden = false, .is_utf8 = false};
  const Lead lead = lead_of(first);
  if (lead.size == 0 || lead.size > text.size()) return broken;
  char32_t code = lead.bits;
  for (std::size_t i = 1; i < lead.size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80U) return broken;
    code = code << 6U | (byte & 0x3fU);
  }
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < lead.least || code > 0x10ffff || is_surrogate) return broken;
  return {.bytes = text.substr(0, lead.size), .code = code};
}

void append_escape(std::string& out, const Character& character) {
  const auto code = static_cast<std::uint32_t>(character.code);
  const auto end = std::back_inserter(out);
  if (!character.is_utf8 || code < 0x80) {
    fmt::format_to(end, "\\x{:02x}", code);
  } else if (code < 0x10000) {
    fmt::format_to(end, "\\u{:04x}", code);
  } else {
    fmt::format_to(end, "\\U{:08x}", code);
  }
}

// Whether a text of several lines keeps the character at its start.
bool is_layout(std::string_view text) {
  return text.front() == '\n' || text.front() == '\t' || text.starts_with("\r\n");
}

std::string visible(std::string_view text, bool one_line) {
  std::string out;
  out.reserve(text.size());
  char32_t before = 0;
  while (!text.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain_byte) - text.begin());
    if (plain > 0) {
      out += text.substr(0, plain);
      before = static_cast<unsigned char>(text[plain - 1]);
      text.remove_prefix(plain);
      continue;
    }
    const Character character = next_character(text, before);
    const bool shown = is_layout(text) ? !one_line : character.is_utf8 && !character.is_hidden;
    if (!shown) {
      append_escape(out, character);
    } else {
      out += character.bytes;
    }
    before = character.code;
    text.remove_prefix(character.bytes.size());
  }
  return out;
}

}  // namespace

Character next_character(std::string_view text, char32_t before) {
  Character character = decoded(text);
  if (!character.is_utf8) return character;
  character.is_hidden = is_in(kHidden, character.code);
  if (character.code == kNonJoiner || character.code == kJoiner) {
    const std::string_view rest = text.substr(character.bytes.size());
    character.is_hidden =
        rest.empty() || !is_in(kJoining, before) || !is_in(kJoining, decoded(rest).code);
  }
  return character;
}

std::string visible_text(std::string_view text) { return visible(text, false); }

std::string visible_line(std::string_view text) { return visible(text, true); }

bool is_visible_line(std::string_view text) {
  return std::ranges::all_of(text, is_plain_byte) || visible_line(text) == text;
}

}  // namespace msprobe
