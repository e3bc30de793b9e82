// SPDX-License-Identifier: Apache-2.0
// The "type" names of recorded values, and what their payload means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

// Gives a payload ("value", for a memory format "format") its meaning, in place. Not for tensors. A
// null payload is None whatever the type says; an unknown type without a payload is Opaque. Returns
// what is wrong, or nothing.
std::string decode(std::string_view type, Encoding encoding, bool has_payload, Value& value);

}  // namespace msprobe::dump
