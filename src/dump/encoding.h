// The "type" names of recorded values, and what their payload means.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/result.h"
#include "dump/call_record.h"

namespace msprobe::dump {

enum class Encoding : std::uint8_t {
  kTensor,
  kInteger,
  kReal,
  kBool,
  kText,
  kComplex,
  kNone,
  kSlice,
  kEllipsis,
  kSize,
  kDType,
  kDevice,
  kMemoryFormat,
  kOpaque,   // known, and nothing this build can rebuild
  kUnknown,  // whatever the payload is
};

Encoding find_encoding(std::string_view type);

// Gives the payload ("value", for a memory format "format") of an object its meaning. Not for
// tensors. A null payload is None whatever the type says; an unknown type without one is Opaque.
Result<Value> decode(std::string_view type, std::optional<Value> payload);

}  // namespace msprobe::dump
