// SPDX-License-Identifier: Apache-2.0
#include "dump/json_scalar.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

namespace msprobe::dump {
namespace {

using Kind = JsonScalar::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::uint64_t kExactIntegers = std::uint64_t{1} << 53;  // double holds all below
constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};  // all exact

// Eight characters at once, the first in the lowest byte. A digit is 0x30 to 0x39: its high half is
// 3, and stays so when 6 is added.
bool are_digits(std::uint64_t eight) {
  constexpr std::uint64_t kHigh = 0xF0F0F0F0F0F0F0F0;
  constexpr std::uint64_t kThrees = 0x3030303030303030;
  return (eight & kHigh) == kThrees && ((eight + 0x0606060606060606) & kHigh) == kThrees;
}

// Neighbours are joined to numbers of two, four and eight digits.
std::uint64_t value_of(std::uint64_t eight) {
  eight -= 0x3030303030303030;
  eight = (eight * 10 + (eight >> 8)) & 0x00FF00FF00FF00FF;
  eight = (eight * 100 + (eight >> 16)) & 0x0000FFFF0000FFFF;
  return (eight * 10000 + (eight >> 32)) & 0xFFFFFFFF;
}

// The digits of a number as one integer: 12.5 is 125 with one place behind the point.
struct Digits {
  std::uint64_t value = 0;
  int count = 0;  // of all digits; beyond 19 `value` is meaningless
  int behind_point = 0;

  // Takes the digits at `at` and moves behind them; false if there are none.
  bool take(std::string_view token, std::size_t& at) {
    const std::size_t start = at;
    for (std::uint64_t eight = 0; token.size() - at >= 8; at += 8) {
      std::memcpy(&eight, token.data() + at, 8);
      if (!are_digits(eight)) break;
      value = value * 100000000 + value_of(eight);
    }
    for (; at < token.size() && is_digit(token[at]); ++at) {
      value = value * 10 + static_cast<std::uint64_t>(token[at] - '0');
    }
    count += static_cast<int>(std::min<std::size_t>(at - start, 1000));
    return at > start;
  }
};

// JSON's grammar behind the digits in front: (. [0-9]+)? ([eE] [+-]? [0-9]+)?
bool is_real_tail(std::string_view token, std::size_t at, Digits& digits, bool& has_exponent) {
  if (token[at] == '.') {
    const std::size_t point = at++;
    if (!digits.take(token, at)) return false;
    digits.behind_point = static_cast<int>(at - point - 1);
  }
  has_exponent = at < token.size() && (token[at] == 'e' || token[at] == 'E');
  if (has_exponent) {
    ++at;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    if (Digits exponent; !exponent.take(token, at)) return false;
  }
  return at == token.size();
}

// REQUIRES: JSON's grammar of numbers.
double to_double(std::string_view token) {
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error == std::errc()) return value;
  // Too large or too small for double: strtod gives the infinity or the zero with its sign.
  return std::strtod(std::string(token).c_str(), nullptr);
}

JsonScalar read_integer(std::string_view token, const Digits& digits, bool negative) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (digits.count > 19 || digits.value > kMost + (negative ? 1 : 0)) {
    return {Kind::kBigInteger, 0, to_double(token)};
  }
  const auto value = static_cast<std::int64_t>(negative ? ~digits.value + 1 : digits.value);
  return {Kind::kInteger, value, static_cast<double>(value)};
}

// -? (0 | [1-9][0-9]*) and the tail above.
JsonScalar read_number(std::string_view token) {
  const bool negative = token.starts_with('-');
  std::size_t at = negative ? 1 : 0;
  Digits digits;
  const std::size_t first = at;
  if (!digits.take(token, at)) return {};
  if (token[first] == '0' && at > first + 1) return {};
  if (at == token.size()) return read_integer(token, digits, negative);
  bool has_exponent = false;
  if (!is_real_tail(token, at, digits, has_exponent)) return {};
  // Both numbers exact, so one division rounds once: the nearest double. Most recorded values are
  // such.
  if (!has_exponent && digits.count <= 19 && digits.value < kExactIntegers) {
    const double magnitude = static_cast<double>(digits.value) / kPowersOfTen[digits.behind_point];
    return {Kind::kReal, 0, negative ? -magnitude : magnitude};
  }
  return {Kind::kReal, 0, to_double(token)};
}

// The four hex digits of \uXXXX at `at`.
std::optional<std::uint32_t> read_hex4(std::string_view raw, std::size_t at) {
  if (raw.size() - at < 4) return std::nullopt;
  std::uint32_t unit = 0;
  const char* first = raw.data() + at;
  const auto [end, error] = std::from_chars(first, first + 4, unit, 16);
  if (error != std::errc() || end != first + 4) return std::nullopt;
  return unit;
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// Reads the digits behind "\u" at `at`, and a second half where the first one needs it.
bool append_unicode_escape(std::string_view raw, std::size_t& at, std::string& out) {
  const std::optional<std::uint32_t> unit = read_hex4(raw, at);
  if (!unit) return false;
  at += 4;
  if (*unit < 0xD800 || *unit > 0xDFFF) {
    append_utf8(*unit, out);
    return true;
  }
  if (*unit > 0xDBFF || !raw.substr(at).starts_with("\\u")) return false;
  const std::optional<std::uint32_t> low = read_hex4(raw, at + 2);
  if (!low || *low < 0xDC00 || *low > 0xDFFF) return false;
  at += 6;
  append_utf8(0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), out);
  return true;
}

}  // namespace

JsonScalar read_json_scalar(std::string_view token) {
  if (token.empty()) return {};
  switch (token.front()) {
    case 'n':
      return token == "null" ? JsonScalar{Kind::kNull, 0, 0} : JsonScalar{};
    case 't':
      return token == "true" ? JsonScalar{Kind::kBool, 1, 1} : JsonScalar{};
    case 'f':
      return token == "false" ? JsonScalar{Kind::kBool, 0, 0} : JsonScalar{};
    case 'N':
      if (token != "NaN") return {};
      return {Kind::kReal, 0, std::numeric_limits<double>::quiet_NaN()};
    case 'I':
      if (token != "Infinity") return {};
      return {Kind::kReal, 0, std::numeric_limits<double>::infinity()};
    case '-':
      if (token == "-Infinity") return {Kind::kReal, 0, -std::numeric_limits<double>::infinity()};
      return read_number(token);
    default:
      return read_number(token);
  }
}

bool append_unescaped(std::string_view raw, std::string& out) {
  std::size_t at = 0;
  while (at < raw.size()) {
    const std::size_t escape = raw.find('\\', at);
    out.append(raw.substr(at, escape - at));
    if (escape == std::string_view::npos) return true;
    if (escape + 1 >= raw.size()) return false;
    at = escape + 2;
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = raw[escape + 1];
    if (letter == 'u') {
      if (!append_unicode_escape(raw, at, out)) return false;
      continue;
    }
    const std::size_t index = kLetters.find(letter);
    if (index == std::string_view::npos) return false;
    out.push_back(kMeanings[index]);
  }
  return true;
}

}  // namespace msprobe::dump
