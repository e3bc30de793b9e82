// SPDX-License-Identifier: Apache-2.0
// The floating formats the CPU has no type for: how their bits become a float, and a float their
// bits.
#pragma once

#include <bit>
#include <cstdint>

#include "core/dtype.h"

namespace msprobe {

inline float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Round to nearest even; NaN stays NaN.
inline std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  const std::uint32_t rounding = 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<std::uint16_t>((bits + rounding) >> 16);
}

float float16_to_float(std::uint16_t bits);
std::uint16_t float_to_float16(float value);
// Rounds once, from double; through float the result could be off by one unit.
std::uint16_t double_to_float16(double value);
std::uint16_t double_to_bfloat16(double value);

// Rounded once to float16, bfloat16 or float32; as it is for any other dtype.
double round_to(DType dtype, double value);

float float8_e4m3fn_to_float(std::uint8_t bits);
float float8_e5m2_to_float(std::uint8_t bits);
// HiFloat8 (arXiv 2409.16626): a prefix-coded exponent width with 3, 2, 1 or 0 mantissa bits.
float hifloat8_to_float(std::uint8_t bits);

}  // namespace msprobe
