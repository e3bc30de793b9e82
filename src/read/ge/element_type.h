// SPDX-License-Identifier: Apache-2.0
// The element types and device layouts a GE dump names by number, and what is known of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/dtype.h"

namespace msprobe::ge {

// How stored elements become elements of a dtype the host has.
enum class Storage : std::uint8_t {
  kPlain,  // as they are
  kInt4,   // two in a byte, low nibble first, two's complement
  kInt2,   // four in a byte, low bits first
  kUInt2,
  kUInt1,  // eight in a byte, high bit first
  kE8M0,   // 2^(code - 127)
  kE2M1,   // two in a byte, low nibble first
  kE1M2,
  kE3M2,  // one in a byte; how four go into three bytes is not public
  kE2M3,
  kOpaque,  // no numbers: strings, handles, formats without a public packing
};

struct ElementType {
  std::uint32_t code;     // in DumpData; the numbering of ge.proto, not that of the ACL headers
  std::string_view name;  // "DT_FLOAT", as the statistics files spell it
  std::string_view text;  // "float32", as we spell it
  std::uint32_t bits;     // of one stored element; 0: no fixed size
  Storage storage;
  DType decoded;  // of the elements once read
};

// nullptr for a number that no published definition has.
const ElementType* element_type(std::uint32_t code);
const ElementType* element_type(std::string_view name);

// From the numbering of the ACL headers, which container B uses.
std::optional<std::uint32_t> code_of_acl(std::uint32_t acl);

// One stored number of a type that is not plain.
std::int8_t decode_integer(Storage storage, std::uint8_t bits);
float decode_float(Storage storage, std::uint8_t bits);

enum class TensorFormat : std::uint32_t {
  kNchw = 0,
  kNhwc = 1,
  kNd = 2,
  kNc1hwc0 = 3,
  kFractalZ = 4,
  kNc1hwc0C04 = 12,
  kChwn = 14,
  kHwcn = 16,
  kNdhwc = 27,
  kFractalZz = 28,
  kFractalNz = 29,
  kNcdhw = 30,
  kDhwcn = 31,
  kNdc1hwc0 = 32,
  kFractalZ3d = 33,
};

// "FRACTAL_NZ"; "format 77" is left to the caller where this is empty.
std::string_view format_name(std::uint32_t format);
std::optional<std::uint32_t> parse_format(std::string_view name);

}  // namespace msprobe::ge
