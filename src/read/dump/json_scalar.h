// SPDX-License-Identifier: Apache-2.0
// The smallest pieces of JSON as Python writes it: one token that is not a container, and the
// escapes of a string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msprobe::dump {

struct JsonScalar {
  enum class Kind : std::uint8_t {
    kNull,
    kBool,
    kInteger,     // fits in 64 signed bits
    kBigInteger,  // does not; `real` is the nearest double
    kReal,        // NaN, Infinity and -Infinity included, as Python's json writes them
    kInvalid,
  };
  Kind kind = Kind::kInvalid;
  std::int64_t integer = 0;  // kInteger; 0 or 1 for kBool
  double real = 0;           // kInteger, kBigInteger, kReal
};

// Reads a whole token (no space around it, not a string). Numbers follow JSON's grammar strictly; a
// real beyond the range of double becomes an infinity, as in Python.
JsonScalar read_json_scalar(std::string_view token);

// Replaces the escapes of `raw` (the text between the quotes) and appends the text to `out`.
// False for an escape JSON does not have, and for half a surrogate pair.
bool append_unescaped(std::string_view raw, std::string& out);

}  // namespace msprobe::dump
