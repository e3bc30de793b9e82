// SPDX-License-Identifier: Apache-2.0
// One pass over float32 numbers: the vector kernel and the plain loop that defines it.
#pragma once

#include <cstddef>
#include <limits>

namespace msprobe::collect {

// Extremes over the elements that are not NaN; sums in double.
struct FloatSums {
  double max = -std::numeric_limits<double>::infinity();
  double min = std::numeric_limits<double>::infinity();
  double sum = 0;
  double sum_of_squares = 0;
  bool has_nan = false;

  void merge(const FloatSums& other);
};

FloatSums float_sums(const float* values, std::size_t count);
FloatSums float_sums_reference(const float* values, std::size_t count);

}  // namespace msprobe::collect
