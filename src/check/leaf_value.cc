// SPDX-License-Identifier: Apache-2.0
#include "check/leaf_value.h"

#include <charconv>
#include <complex>
#include <optional>
#include <string>

namespace msprobe::check {
namespace {

template <class T>
std::optional<T> parse(std::string_view text) {
  T number{};
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "(1+2j)", "2j", "(-0-1e-05j)": the imaginary part starts at the last sign that is not an
// exponent's.
std::optional<std::complex<double>> parse_complex(std::string_view text) {
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  if (!text.ends_with('j')) return std::nullopt;
  text.remove_suffix(1);
  std::size_t split = text.size();
  while (split > 0) {
    --split;
    const bool sign = text[split] == '+' || text[split] == '-';
    if (sign && (split == 0 || text[split - 1] != 'e')) break;
  }
  const auto real = split == 0 ? std::optional(0.0) : parse<double>(text.substr(0, split));
  const auto imaginary = parse<double>(text.substr(split));
  if (!real || !imaginary) return std::nullopt;
  return std::complex<double>(*real, *imaginary);
}

}  // namespace

judge::Value leaf_value(std::string_view type, std::string_view text) {
  if (type == "<class 'NoneType'>") return std::monostate();
  if (type == "<class 'bool'>") return text == "True";
  if (type == "<class 'str'>") return std::string(text);
  if (type == "<class 'int'>") {
    if (const auto number = parse<std::int64_t>(text)) return *number;
  }
  if (type == "<class 'float'>") {
    if (const auto number = parse<double>(text)) return *number;
  }
  if (type == "<class 'complex'>") {
    if (const auto number = parse_complex(text)) return *number;
  }
  return judge::OtherValue{std::string(type)};
}

}  // namespace msprobe::check
