#include "dump/json_scalar.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

namespace msprobe::dump {
namespace {

using Kind = JsonScalar::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Moves `at` behind the digits there; false when there are none.
bool skip_digits(std::string_view token, std::size_t& at) {
  const std::size_t start = at;
  while (at < token.size() && is_digit(token[at])) ++at;
  return at > start;
}

// JSON's grammar of numbers: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
bool is_number(std::string_view token, bool& is_integer) {
  std::size_t at = token.starts_with('-') ? 1 : 0;
  const std::size_t first = at;
  if (!skip_digits(token, at)) return false;
  if (token[first] == '0' && at > first + 1) return false;
  is_integer = at == token.size();
  if (is_integer) return true;
  if (token[at] == '.' && !skip_digits(token, ++at)) return false;
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    if (!skip_digits(token, at)) return false;
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

JsonScalar read_number(std::string_view token) {
  bool is_integer = false;
  if (!is_number(token, is_integer)) return {};
  if (!is_integer) return {Kind::kReal, 0, to_double(token)};
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error == std::errc()) return {Kind::kInteger, value, static_cast<double>(value)};
  return {Kind::kBigInteger, 0, to_double(token)};
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
