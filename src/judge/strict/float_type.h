// SPDX-License-Identifier: Apache-2.0
// What the bound needs to know of a floating dtype.
#pragma once

#include <optional>

#include "libtorch/aten.h"

namespace msprobe::strict {

struct FloatType {
  double eps = 0;       // distance from 1 to the next number
  double smallest = 0;  // the least positive number, a subnormal
  double least_normal = 0;
  double largest = 0;
  double accumulator_eps = 0;  // of the sums a sound kernel keeps: float32 for what is narrower
};

// Of `type`, or of its parts where it is complex; nothing for other dtypes.
std::optional<FloatType> float_type(at::ScalarType type);

// The distance from the number at or below `size` to the next one. REQUIRES: size >= 0.
double unit_of(double size, const FloatType& type);

// The elements in float64, on the CPU, in row-major order; a complex number as two of them.
at::Tensor real_parts(const at::Tensor& tensor);
// The same in one row.
at::Tensor flat(const at::Tensor& tensor);

// What is not finite counts as 0.
double root_mean_square(const at::Tensor& values);

}  // namespace msprobe::strict
