// SPDX-License-Identifier: Apache-2.0
// Reads the object that describes a recorded tensor.
#pragma once

#include <optional>
#include <string>

#include "dump/call_record.h"
#include "dump/json_reader.h"

namespace msprobe::dump {

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

}  // namespace msprobe::dump
