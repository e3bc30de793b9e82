// SPDX-License-Identifier: Apache-2.0
// Numbers of a dtype from doubles, and back.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "core/operation.h"

namespace msprobe::identify {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Rounded to nearest. REQUIRES: a floating or integer dtype of at most 64 bits, no float8; integers
// in range.
Numbers make_numbers(DType dtype, Shape shape, std::span<const double> values);

// Every dtype that make_numbers() takes, bool, float8_e4m3fn and float8_e5m2.
std::vector<double> values_of(const Numbers& numbers);

// The bits of a dtype of 16 bits as its number.
double from_bits(DType dtype, std::uint16_t bits);

// What a floating dtype is made of.
struct FloatParts {
  int fraction_bits;   // behind the leading one: 23, 10, 7
  int least_exponent;  // of a normal number: -126, -14, -126
  double largest;      // finite
};
FloatParts format_of(DType dtype);

// The distance between neighbours at `value`.
double unit_at(DType dtype, double value);

}  // namespace msprobe::identify
