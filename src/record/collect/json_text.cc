// SPDX-License-Identifier: Apache-2.0
#include "collect/json_text.h"

#include <cmath>

#include "core/python_text.h"

namespace msprobe::collect {
namespace {

constexpr std::uint32_t kReplacement = 0xfffd;

// The code point at `at`, which moves behind it; malformed bytes give U+FFFD.
std::uint32_t next_code_point(std::string_view utf8, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(utf8[i]); };
  const unsigned lead = byte(at++);
  if (lead < 0x80) return lead;
  const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : -1;
  if (more < 0 || at + static_cast<std::size_t>(more) > utf8.size()) return kReplacement;
  std::uint32_t point = lead & (0x3fU >> more);
  for (int i = 0; i < more; ++i) point = (point << 6) | (byte(at++) & 0x3fU);
  return point;
}

void append_unit(std::string& out, std::uint32_t unit) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 15U];
}

}  // namespace

std::string python_repr(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::string out;
  append_python_float(out, value);
  return out;
}

void JsonText::key(std::string_view name) {
  string(name);
  text_ += ": ";
  after_key_ = true;
}

void JsonText::integer(std::int64_t value) {
  separate();
  text_ += std::to_string(value);
}

void JsonText::natural(std::uint64_t value) {
  separate();
  text_ += std::to_string(value);
}

void JsonText::real(double value) { literal(python_repr(value)); }

void JsonText::string(std::string_view utf8) {
  separate();
  text_ += '"';
  for (std::size_t at = 0; at < utf8.size();) code_point(next_code_point(utf8, at));
  text_ += '"';
}

void JsonText::string(const std::vector<std::uint32_t>& code_points) {
  separate();
  text_ += '"';
  for (const std::uint32_t point : code_points) code_point(point);
  text_ += '"';
}

void JsonText::statistic(const RecordedStatistic& statistic) {
  switch (statistic.kind) {
    case RecordedStatistic::Kind::kNull:
      return null();
    case RecordedStatistic::Kind::kBool:
      return boolean(statistic.integer != 0);
    case RecordedStatistic::Kind::kSigned:
      return integer(statistic.integer);
    case RecordedStatistic::Kind::kUnsigned:
      return natural(static_cast<std::uint64_t>(statistic.integer));
    case RecordedStatistic::Kind::kReal:
      return real(statistic.real);
  }
}

void JsonText::literal(std::string_view json) {
  separate();
  text_ += json;
}

void JsonText::open(char bracket) {
  separate();
  text_ += bracket;
  has_items_.push_back(false);
  ++depth_;
}

void JsonText::close(char bracket) {
  --depth_;
  if (has_items_.back()) line_break();
  has_items_.pop_back();
  text_ += bracket;
}

void JsonText::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) text_ += layout_ == Layout::kOneLine ? ", " : ",";
  has_items_.back() = true;
  line_break();
}

void JsonText::line_break() {
  if (layout_ == Layout::kOneLine) return;
  text_ += '\n';
  text_.append(depth_, ' ');
}

void JsonText::code_point(std::uint32_t point) {
  switch (point) {
    case '"':
      text_ += "\\\"";
      return;
    case '\\':
      text_ += "\\\\";
      return;
    case '\n':
      text_ += "\\n";
      return;
    case '\r':
      text_ += "\\r";
      return;
    case '\t':
      text_ += "\\t";
      return;
    case '\b':
      text_ += "\\b";
      return;
    case '\f':
      text_ += "\\f";
      return;
    default:
      break;
  }
  if (point >= 0x20 && point < 0x7f) {
    text_ += static_cast<char>(point);
  } else if (point < 0x10000) {
    append_unit(text_, point);
  } else {
    append_unit(text_, 0xd800 + ((point - 0x10000) >> 10));
    append_unit(text_, 0xdc00 + ((point - 0x10000) & 0x3ff));
  }
}

}  // namespace msprobe::collect
