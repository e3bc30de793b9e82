// SPDX-License-Identifier: Apache-2.0
// Turns the JSON of recorded arguments into Values: every encoding a dump can hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dump/call_record.h"
#include "dump/json_reader.h"

namespace msprobe::dump {

// Reads one recorded tensor.
class TensorRecordReader {
 public:
  explicit TensorRecordReader(JsonReader& json) : json_(json) {}

  // Members a later stage has no use for are read over.
  [[nodiscard]] bool read(TensorRecord& out);

 private:
  bool finish(TensorRecord& record, bool has_shape);

  JsonReader& json_;
  // Most tensors have the dtype of the one before.
  std::string last_dtype_text_;
  std::optional<DType> last_dtype_;
};

class ValueReader {
 public:
  explicit ValueReader(JsonReader& json) : json_(json), tensors_(json) {}

  // A JSON list of encoded values; null counts as an empty one.
  [[nodiscard]] bool read_list(List& out);
  // A JSON object of encoded values: keyword arguments. Null counts as an empty one.
  [[nodiscard]] bool read_dict(Dict& out);

 private:
  bool read_value(Value& out);
  bool read_elements(List& out);
  bool read_members(Dict& out);
  bool read_object(Value& out);
  bool read_array(Value& out);
  bool read_plain(Value& out);
  bool read_payload(Value& out, bool& found);
  bool read_untyped(Value& out);

  JsonReader& json_;
  TensorRecordReader tensors_;
};

}  // namespace msprobe::dump
