// SPDX-License-Identifier: Apache-2.0
// JSON as Python's json module writes it (ASCII, bare NaN and Infinity), indented by one blank a
// level or on one line: dump.json is read by programs that know it in that form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collect/statistics.h"

namespace msprobe::collect {

// One value after another, in order; the caller pairs begin and end.
class JsonText {
 public:
  enum class Layout : std::uint8_t { kIndented, kOneLine };
  explicit JsonText(Layout layout, std::size_t depth = 0) : layout_(layout), depth_(depth) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);
  void null() { literal("null"); }
  void boolean(bool value) { literal(value ? "true" : "false"); }
  void integer(std::int64_t value);
  void natural(std::uint64_t value);
  void real(double value);
  void string(std::string_view utf8);
  // Code points of a Python string, lone surrogates included.
  void string(const std::vector<std::uint32_t>& code_points);
  void statistic(const RecordedStatistic& statistic);
  // A value whose JSON is already written.
  void literal(std::string_view json);

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void open(char bracket);
  void close(char bracket);
  void separate();
  void line_break();
  void code_point(std::uint32_t point);

  Layout layout_;
  std::size_t depth_;
  std::string text_;
  std::vector<bool> has_items_;  // one per open object or array
  bool after_key_ = false;
};

// As Python's repr(): the shortest digits that read back to the same number.
std::string python_repr(double value);

}  // namespace msprobe::collect
