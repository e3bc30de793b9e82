// SPDX-License-Identifier: Apache-2.0
#include "tables/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "core/float_formats.h"

namespace msprobe::tables {
namespace {

// 309 digits before the point, 20 behind it, sign and point.
using FixedBuffer = std::array<char, 352>;

void append_fixed(std::string& out, double value, int precision) {
  if (std::isnan(value)) {
    out += "nan";  // whatever its sign
    return;
  }
  FixedBuffer buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::fixed, precision)
                       .ptr;
  out.append(buffer.data(), end);
}

// d.ddde±xx with the fewest digits that read back to the same value.
std::string shortest_single(float value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific)
                       .ptr;
  return {buffer.data(), end};
}

std::string shortest_half(double value) {
  constexpr int kEnoughDigits = 5;
  const std::uint16_t bits = double_to_float16(value);
  const double half = float16_to_float(bits);
  std::string text;
  for (int digits = 0; digits < kEnoughDigits; ++digits) {
    text = fmt::format("{:.{}e}", half, digits);
    if (double_to_float16(std::stod(text)) == bits) break;
  }
  return text;
}

// Lays out "1.1920929e-07" as NumPy prints it: positional from 1e-4 up to 1e16, always with a
// point.
void append_like_numpy(std::string& out, std::string_view scientific, double value) {
  if (scientific.starts_with('-')) {
    out += '-';
    scientific.remove_prefix(1);
  }
  const std::size_t e = scientific.find('e');
  std::string digits(scientific.substr(0, 1));
  if (e > 2) digits += scientific.substr(2, e - 2);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  const int exponent = std::stoi(std::string(scientific.substr(e + 1)));
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-4 || size >= 1e16)) {
    out += digits.substr(0, 1);
    if (digits.size() > 1) out += "." + digits.substr(1);
    out += fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  } else if (exponent < 0) {
    out += "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    out += digits.substr(0, whole) + "." + (digits.size() > whole ? digits.substr(whole) : "0");
  }
}

void append_narrow(std::string& out, double value, bool half) {
  if (std::isnan(value)) {
    out += "nan";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else {
    append_like_numpy(out, half ? shortest_half(value) : shortest_single(static_cast<float>(value)),
                      value);
  }
}

}  // namespace

void append_number(std::string& out, const documented::Cell& cell, int precision) {
  switch (cell.kind) {
    case documented::Cell::Kind::kBlank:
      out += documented::kBlankText;
      break;
    case documented::Cell::Kind::kInteger:
      append_fixed(out, cell.value, 0);
      break;
    case documented::Cell::Kind::kDouble:
      append_fixed(out, cell.value, precision);
      break;
    case documented::Cell::Kind::kSingle:
      append_narrow(out, cell.value, false);
      break;
    case documented::Cell::Kind::kHalf:
      append_narrow(out, cell.value, true);
      break;
  }
}

void append_shortest(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::scientific)
                         .ptr;
    append_like_numpy(out, {buffer.data(), static_cast<std::size_t>(end - buffer.data())}, value);
  }
}

std::string_view trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<double> parse_number(std::string_view text) {
  text = trim(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  // Too large or too small is still a number; from_chars leaves the value alone then.
  if (error == std::errc::result_out_of_range) {
    return std::strtod(std::string(text).c_str(), nullptr);
  }
  if (error != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace msprobe::tables
