// SPDX-License-Identifier: Apache-2.0
#include "core/float_formats.h"

#include <cmath>
#include <limits>

namespace msprobe {
namespace {

// Rounds `value` to a binary format with `mantissa_bits` explicit bits, smallest normal exponent
// `min_exponent` and largest exponent `max_exponent`; ties to even. Infinity beyond the range.
double round_to_format(double value, int mantissa_bits, int min_exponent, int max_exponent) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // value = f * 2^exponent, f in [0.5, 1)
  const int unit = std::max(exponent - 1, min_exponent) - mantissa_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  const double limit = std::ldexp(2.0 - std::ldexp(1.0, -mantissa_bits), max_exponent);
  if (std::abs(rounded) > limit) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return rounded;
}

float small_float(std::uint8_t bits, int mantissa_bits, int bias) {
  const int sign = bits >> 7;
  const int exponent_bits = 7 - mantissa_bits;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
                              : std::ldexp(static_cast<float>((1 << mantissa_bits) + mantissa),
                                           exponent - bias - mantissa_bits);
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace

float float16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t double_to_float16(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  const double rounded = std::abs(round_to_format(value, 10, -14, 15));
  if (std::isinf(rounded)) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (rounded < 0x1p-14)
    return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(rounded, 24)));
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(rounded));
  return static_cast<std::uint16_t>(sign | ((bits >> 13) - (112U << 10)));
}

std::uint16_t float_to_float16(float value) { return double_to_float16(value); }

std::uint16_t double_to_bfloat16(double value) {
  const double rounded = round_to_format(value, 7, -126, 127);
  return float_to_bfloat16(static_cast<float>(rounded));
}

float float8_e4m3fn_to_float(std::uint8_t bits) {
  if ((bits & 0x7fU) == 0x7fU) return std::numeric_limits<float>::quiet_NaN();
  return small_float(bits, 3, 7);
}

float float8_e5m2_to_float(std::uint8_t bits) {
  if ((bits & 0x7cU) == 0x7cU) {
    if ((bits & 0x3U) != 0) return std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    return (bits & 0x80U) != 0 ? -infinity : infinity;
  }
  return small_float(bits, 2, 15);
}

// Bits: sign, then a prefix code for the width D of the exponent field: 11 -> 4, 10 -> 3, 01 -> 2,
// 001 -> 1, 0001 -> 0, 0000 -> denormal. The exponent field is sign-magnitude with a hidden leading
// one; what remains is the mantissa. 0x80 is NaN, 0x6f and 0xef are the infinities.
float hifloat8_to_float(std::uint8_t bits) {
  if (bits == 0x80) return std::numeric_limits<float>::quiet_NaN();
  if (bits == 0) return 0.0F;
  const bool negative = (bits & 0x80U) != 0;
  const unsigned rest = bits & 0x7fU;
  if (rest == 0x6f) {
    const float infinity = std::numeric_limits<float>::infinity();
    return negative ? -infinity : infinity;
  }
  int width = 0;
  int used = 0;
  if ((rest & 0x60U) == 0x60U) {
    width = 4, used = 2;
  } else if ((rest & 0x60U) == 0x40U) {
    width = 3, used = 2;
  } else if ((rest & 0x60U) == 0x20U) {
    width = 2, used = 2;
  } else if ((rest & 0x70U) == 0x10U) {
    width = 1, used = 3;
  } else if ((rest & 0x78U) == 0x08U) {
    width = 0, used = 4;
  } else {  // denormal: 2^(mantissa - 23)
    const float magnitude = std::ldexp(1.0F, static_cast<int>(rest & 0x7U) - 23);
    return negative ? -magnitude : magnitude;
  }
  const int mantissa_bits = 7 - used - width;
  const auto mantissa = static_cast<float>(rest & ((1U << mantissa_bits) - 1U));
  int exponent = 0;
  if (width > 0) {
    const unsigned field = (rest >> mantissa_bits) & ((1U << width) - 1U);
    const unsigned sign_bit = 1U << (width - 1);
    const auto magnitude = static_cast<int>((field & (sign_bit - 1U)) | sign_bit);
    exponent = (field & sign_bit) != 0 ? -magnitude : magnitude;
  }
  const float value = std::ldexp(1.0F + std::ldexp(mantissa, -mantissa_bits), exponent);
  return negative ? -value : value;
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat16:
      return float16_to_float(double_to_float16(value));
    case DType::kBFloat16:
      return bfloat16_to_float(double_to_bfloat16(value));
    case DType::kFloat32:
      return static_cast<double>(static_cast<float>(value));
    default:
      return value;
  }
}

}  // namespace msprobe
