// SPDX-License-Identifier: Apache-2.0
#include "core/python_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace msprobe {

void append_python_float(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "inf" : "-inf";
    return;
  }
  std::array<char, 32> buffer;
  const double magnitude = std::abs(value);
  // The exponent form is for what lies outside of 1e-4 .. 1e16.
  const bool is_fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    is_fixed ? std::chars_format::fixed : std::chars_format::scientific)
          .ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  out += text;
  if (is_fixed && text.find('.') == std::string_view::npos) out += ".0";
}

void append_python_string(std::string& out, std::string_view utf8) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool has_single = utf8.find('\'') != std::string_view::npos;
  const char quote = has_single && utf8.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const char c = utf8[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15U];
    } else {
      out += c;
    }
  }
  out += quote;
}

}  // namespace msprobe
