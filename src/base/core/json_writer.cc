// SPDX-License-Identifier: Apache-2.0
#include "core/json_writer.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "core/visible_text.h"

namespace msprobe {
namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
}

void append_code(std::string& out, std::uint32_t code) {
  const auto end = std::back_inserter(out);
  if (code < 0x10000) {
    fmt::format_to(end, "\\u{:04x}", code);
  } else {  // a surrogate pair
    fmt::format_to(end, "\\u{:04x}\\u{:04x}", 0xd7c0 + (code >> 10U), 0xdc00 + (code & 0x3ffU));
  }
}

void append_character(std::string& out, const Character& character) {
  switch (character.code) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (!character.is_utf8) {
    fmt::format_to(std::back_inserter(out), "\\\\x{:02x}",
                   static_cast<std::uint32_t>(character.code));
  } else if (character.is_hidden) {
    append_code(out, static_cast<std::uint32_t>(character.code));
  } else {
    out += character.bytes;
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  char32_t before = 0;
  while (!text.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
    out += text.substr(0, plain);
    if (plain > 0) before = static_cast<unsigned char>(text[plain - 1]);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character character = next_character(text, before);
    append_character(out, character);
    before = character.code;
    text.remove_prefix(character.bytes.size());
  }
  out += '"';
}

}  // namespace

void JsonWriter::line_break() {
  text_ += '\n';
  text_.append(has_items_.size(), ' ');
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) text_ += ',';
  has_items_.back() = true;
  line_break();
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  text_ += '{';
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  const bool items = has_items_.back();
  has_items_.pop_back();
  if (items) line_break();
  text_ += '}';
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  text_ += '[';
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  const bool items = has_items_.back();
  has_items_.pop_back();
  if (items) line_break();
  text_ += ']';
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_quoted(text_, name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  if (texts_ == Texts::kShown) {
    append_quoted(text_, visible_text(text));
  } else {
    append_quoted(text_, text);
  }
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (std::isnan(number)) return value("nan");
  if (std::isinf(number)) return value(number > 0 ? "inf" : "-inf");
  separate();
  text_ += fmt::format("{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  separate();
  text_ += fmt::format("{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(std::size_t number) {
  separate();
  text_ += fmt::format("{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  separate();
  text_ += flag ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  text_ += "null";
  return *this;
}

JsonWriter& JsonWriter::json(std::string_view text) {
  separate();
  text_ += text;
  return *this;
}

}  // namespace msprobe
