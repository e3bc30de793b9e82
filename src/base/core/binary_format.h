// SPDX-License-Identifier: Apache-2.0
// The binary floating formats of the dtypes.
#pragma once

#include <optional>

#include "core/dtype.h"

namespace msprobe {

struct BinaryFormat {
  int mantissa_bits;  // behind the binary point
  int min_exponent;   // of a normal number
};

// Of a complex dtype that of its parts. Nothing: not a floating dtype, or one whose mantissa has no
// fixed length (HiFloat8).
constexpr std::optional<BinaryFormat> binary_format(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kComplex32:
      return BinaryFormat{10, -14};
    case DType::kBFloat16:
      return BinaryFormat{7, -126};
    case DType::kFloat32:
    case DType::kComplex64:
      return BinaryFormat{23, -126};
    case DType::kFloat64:
    case DType::kComplex128:
      return BinaryFormat{52, -1022};
    case DType::kFloat8E4M3:
      return BinaryFormat{3, -6};
    case DType::kFloat8E5M2:
      return BinaryFormat{2, -14};
    case DType::kFloat8E4M3Fnuz:
      return BinaryFormat{3, -7};
    case DType::kFloat8E5M2Fnuz:
      return BinaryFormat{2, -15};
    default:
      return std::nullopt;
  }
}

}  // namespace msprobe
