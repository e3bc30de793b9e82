// SPDX-License-Identifier: Apache-2.0
// What the dtypes of a pair mean to its metrics: which precision each side has, what overflows, how
// large one unit in the last place is.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/dtype.h"

namespace msprobe::measure {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A binary floating format that host arrays have.
struct FloatFormat {
  int mantissa_bits;
  double smallest_normal;
  double largest;   // finite
  double overflow;  // the smallest magnitude that rounds to infinity
  double eps;
  // 1.5 * 2^(52 - mantissa_bits): added to a number of [1, 2) it leaves a sum whose last place is
  // one unit of this format. 0: a double needs no rounding.
  double rounding;

  friend bool operator==(const FloatFormat&, const FloatFormat&) = default;
};

inline constexpr FloatFormat kHalf{10, 0x1p-14, 65504.0, 65520.0, 0x1p-10, 0x1.8p42};
inline constexpr FloatFormat kSingle{23,      0x1p-126, 0x1.fffffep127, 0x1.ffffffp127,
                                     0x1p-23, 0x1.8p29};
inline constexpr FloatFormat kDouble{52,        0x1p-1022, std::numeric_limits<double>::max(),
                                     kInfinity, 0x1p-52,   0};

// 2^floor(log2|value|) for a normal value; 0 for 0 and subnormals, infinity for infinity and NaN.
inline double power_of_two_below(double value) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & 0x7ff0'0000'0000'0000U);
}

// `value` rounded to nearest even in `format`; a NaN stays one.
inline double round_to(const FloatFormat& format, double value) {
  if (std::abs(value) >= format.overflow) return std::copysign(kInfinity, value);
  const double shift =
      std::max(power_of_two_below(value), format.smallest_normal) * format.rounding;
  return (value + shift) - shift;
}

enum class UlpKind : std::uint8_t {
  kNone,
  kBinary,  // a fixed number of mantissa bits
  kFloat8,  // the tapered formula of the 8-bit formats
};

struct PairFormat {
  FloatFormat device;  // of the host array that holds the device's elements
  FloatFormat bench;
  double eps;

  // An infinite or NaN device element is right where bench, rounded to the device's dtype, is so.
  double infinite_from;  // |bench| from here rounds to infinity
  double nan_above;      // |bench| above this rounds to NaN (float8_e4m3fn has no infinity)

  UlpKind ulp = UlpKind::kNone;
  int ulp_mantissa_bits = 0;
  double ulp_smallest_normal = 0;  // 2^min_exponent

  bool rounds_bench() const { return device.mantissa_bits < bench.mantissa_bits; }
};

// For a complex dtype the formats are those of its parts.
PairFormat pair_format(DType device, DType bench);

}  // namespace msprobe::measure
