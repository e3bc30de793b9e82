// SPDX-License-Identifier: Apache-2.0
// Writes JSON for programs that read our --json output: strict JSON, so NaN and infinities become
// the strings "nan", "inf", "-inf". Whoever looks at the text sees every character: what could not
// be seen is written as \u202e, which means the same to a program; bytes that are not UTF-8, which
// JSON cannot hold, become the text \xff.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe {

// One value after another, in order; the caller pairs begin and end.
class JsonWriter {
 public:
  // kShown: for programs that show texts to people, as a page does. Texts are those of
  // visible_text().
  enum class Texts : std::uint8_t { kExact, kShown };
  JsonWriter() = default;
  explicit JsonWriter(Texts texts) : texts_(texts) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  // shortest text that reads back to the same double
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
  JsonWriter& value(std::size_t number);
  JsonWriter& value(bool flag);
  JsonWriter& null();
  JsonWriter& json(std::string_view text);  // one value that is JSON already

  const std::string& text() const { return text_; }

 private:
  void separate();
  void line_break();
  std::string text_;
  std::vector<bool> has_items_;  // one per open object or array
  bool after_key_ = false;
  Texts texts_ = Texts::kExact;
};

}  // namespace msprobe
