// SPDX-License-Identifier: Apache-2.0
// Numbers of few bits as NPU operators take and give them: their names, their codes, how they are
// packed, and the scales that come as powers of two or inside 64-bit words.
#pragma once

#include <cstdint>
#include <optional>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

enum class Number : std::uint8_t {
  kInt8,
  kUInt8,
  kInt32,
  kInt4,
  kE4M3,
  kE5M2,
  kE2M1,
  kE1M2,
  kHiFloat8,
  kE8M0,
  kFloat16,
  kBFloat16,
  kFloat32,
};

// Of the numbers that torch_npu gives its dtypes, and of PyTorch's own.
std::optional<Number> number_of(std::int64_t torch_npu_dtype);
std::optional<Number> number_of(at::ScalarType type);
// Throws where this PyTorch has no such type.
at::ScalarType scalar_type_of(Number number);

double largest_of(Number number);  // 127, 7, 448, 57344, 6, 1.75
bool is_float8_or_4(Number number);

enum class RoundMode : std::uint8_t { kHalfEven, kHalfAway, kFloor, kCeil, kTruncate };

// The number of the format next to each value, as that format's values in double; what is beyond
// the largest becomes the largest.
at::Tensor rounded_to(Number number, const at::Tensor& value, RoundMode mode);

// How codes lie in a tensor: as they are, eight int4 in an int32, two int4 or fp4 in a byte.
enum class Packing : std::uint8_t { kPlain, kInt4InInt32, kInt4InByte, kE2M1InByte, kE1M2InByte };

// Along the last dimension; the first number in the lowest bits.
at::Tensor packed(const at::Tensor& values, Packing packing);
at::Tensor unpacked(const at::Tensor& codes, Packing packing);

// 2^(code - 127) of uint8 or float8_e8m0fnu scales, in double; NaN of 255.
at::Tensor powers_of_two(const at::Tensor& scales);

// What a 64-bit word of npu_trans_quant_param holds: a scale of 19 bits and a whole offset.
struct WordScale {
  at::Tensor scale, offset;
};
WordScale scale_of_words(const at::Tensor& words);
// The same of a float32 scale.
at::Tensor scale_of_19_bits(const at::Tensor& scale);

}  // namespace msprobe::execute::npu
