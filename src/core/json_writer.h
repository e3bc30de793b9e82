// SPDX-License-Identifier: Apache-2.0
// Writes JSON for programs that read our --json output: strict JSON, so NaN and infinities become
// the strings "nan", "inf", "-inf".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe {

// One value after another, in order; the caller pairs begin and end.
class JsonWriter {
 public:
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
};

}  // namespace msprobe
