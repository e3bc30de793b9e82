// Reads the object that describes a recorded tensor.
#pragma once

#include "dump/call_record.h"
#include "dump/json_reader.h"

namespace msprobe::dump {

// `depth` is that of the object. Members a later stage has no use for are read over.
[[nodiscard]] bool read_tensor_record(JsonReader& reader, JsonObject& object, TensorRecord& out,
                                      int depth);

}  // namespace msprobe::dump
