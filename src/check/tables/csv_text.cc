// SPDX-License-Identifier: Apache-2.0
#include "tables/csv_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/formula.h"
#include "core/visible_text.h"
#include "tables/number_text.h"

namespace msprobe::tables {
namespace {

bool needs_quotes(char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; }

// What a character asks for: quotes around the cell, or a closer look.
constexpr std::uint8_t kQuoted = 1;
constexpr std::uint8_t kDoubled = 2;
constexpr std::uint8_t kLookedAt = 4;  // not ASCII, or a control character
constexpr std::array<std::uint8_t, 256> kCare = [] {
  std::array<std::uint8_t, 256> care{};
  for (std::size_t byte = 0; byte < care.size(); ++byte) {
    if ((byte < 0x20 && byte != '\t') || byte >= 0x7f) care[byte] = kLookedAt;
  }
  for (const char c : {',', '\n'}) care[static_cast<unsigned char>(c)] = kQuoted;
  care['"'] = kDoubled;
  return care;
}();

// Characters that begin no formula.
constexpr std::array<bool, 256> kStart = [] {
  std::array<bool, 256> start{};
  for (char c = '0'; c <= '9'; ++c) start[static_cast<unsigned char>(c)] = true;
  for (char c = 'A'; c <= 'Z'; ++c) start[static_cast<unsigned char>(c)] = true;
  for (char c = 'a'; c <= 'z'; ++c) start[static_cast<unsigned char>(c)] = true;
  for (const char c : {'[', ' ', '<', '_', '('}) start[static_cast<unsigned char>(c)] = true;
  return start;
}();

// A plain number below zero, "-1.5"; of others nothing is said.
bool is_negative(std::string_view text) {
  if (text.size() < 2 || text.front() != '-') return false;
  int points = 0;
  for (const char c : text.substr(1)) {
    if (c == '.') {
      ++points;
    } else if (c < '0' || c > '9') {
      return false;
    }
  }
  return points <= 1 && text != "-.";
}

bool needs_guard(std::string_view text) {
  if (text.empty()) return false;
  if (text.front() == '\t') return true;
  return starts_formula(text) && !parse_number(text);
}

void append_visible(std::string& out, std::string_view text) {
  const bool guard = needs_guard(text);
  if (std::ranges::none_of(text, needs_quotes)) {
    if (guard) out += '\'';
    out += text;
    return;
  }
  out += '"';
  if (guard) out += '\'';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace

void append_text(std::string& out, std::string_view text) {
  const bool look = std::ranges::any_of(
      text, [](char c) { return kCare[static_cast<unsigned char>(c)] == kLookedAt; });
  if (look) {
    append_visible(out, visible_text(text));
  } else {
    append_visible(out, text);
  }
}

void finish_cell(std::string& out, std::size_t start) {
  const std::string_view text = std::string_view(out).substr(start);
  if (text.empty()) return;
  std::uint8_t seen = 0;
  for (const char c : text) seen |= kCare[static_cast<unsigned char>(c)];
  const bool is_safe = kStart[static_cast<unsigned char>(text.front())] || is_negative(text);
  if (is_safe && seen == 0) return;
  if (is_safe && seen == kQuoted) {
    out.insert(start, 1, '"');
    out += '"';
    return;
  }
  const std::string copy(text);
  out.resize(start);
  append_text(out, copy);
}

std::string_view without_guard(std::string_view text) {
  if (text.starts_with('\'') && needs_guard(text.substr(1))) text.remove_prefix(1);
  return text;
}

}  // namespace msprobe::tables
