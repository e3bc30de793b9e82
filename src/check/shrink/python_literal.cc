// SPDX-License-Identifier: Apache-2.0
#include "shrink/python_literal.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace msprobe::shrink {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string bound_text(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : "None";
}

}  // namespace

std::string python_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string python_text(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string python_comment(std::string_view text) {
  std::string safe(text);
  std::ranges::replace(safe, '"', '\'');
  std::ranges::replace(safe, '\\', '/');
  return safe;
}

bool is_python_name(std::string_view text) {
  if (text.empty() || !is_letter(text.front())) return false;
  return std::ranges::all_of(text, [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

std::optional<std::string> python_literal(const dump::Value& value) {
  if (value.as<dump::None>() != nullptr) return "None";
  if (const auto* truth = value.as<bool>()) return *truth ? "True" : "False";
  if (const auto* integer = value.as<std::int64_t>()) return fmt::format("{}", *integer);
  if (const auto* real = value.as<double>()) {
    return std::isfinite(*real) ? python_number(*real)
                                : fmt::format("float('{}')", python_number(*real));
  }
  if (const auto* number = value.as<std::complex<double>>()) {
    return fmt::format("complex({}, {})", python_number(number->real()),
                       python_number(number->imag()));
  }
  if (const auto* text = value.as<std::string>()) return python_text(*text);
  if (value.as<dump::Ellipsis>() != nullptr) return "...";
  if (const auto* slice = value.as<dump::Slice>()) {
    return fmt::format("slice({}, {}, {})", bound_text(slice->start), bound_text(slice->stop),
                       bound_text(slice->step));
  }
  return std::nullopt;
}

}  // namespace msprobe::shrink
