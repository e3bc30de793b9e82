// SPDX-License-Identifier: Apache-2.0
// What one pass over (a part of) a pair collects, and how it becomes Metrics.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "measure/metrics.h"
#include "measure/pair_format.h"

namespace msprobe::measure {

// The larger one; NaN once either is NaN.
inline double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }

// What the cosine is made of: sums of D * B (conjugated, for complex), |D|^2 and |B|^2.
struct CosineSums {
  double dot = 0;
  double dot_imaginary = 0;
  double device_squares = 0;
  double bench_squares = 0;
};

// Sums and maxima of a part; merge() joins two parts. Only the order of merging decides the last
// digits of the sums.
struct Tally {
  std::uint64_t count = 0;

  double device_abs_max = 0;
  double bench_abs_max = 0;
  // These two may be negative in reference arithmetic (wrapped integers, signed 8-bit ULP).
  double max_abs_error = -kInfinity;
  double max_ulp_error = -kInfinity;
  double max_relative_error = 0;

  CosineSums products;
  double error_squares = 0;  // over the normal elements, as the next
  double relative_errors_sum = 0;
  double ulp_errors_sum = 0;

  std::int64_t balance = 0;  // elements with D > B' less those with D < B'
  std::uint64_t within_100 = 0;
  std::uint64_t within_1000 = 0;
  std::uint64_t within_10000 = 0;
  std::uint64_t small = 0;
  std::uint64_t small_errors = 0;
  std::uint64_t absolute_small_errors = 0;
  std::uint64_t normal = 0;
  std::uint64_t relative_errors = 0;
  std::uint64_t not_finite = 0;
  std::uint64_t not_finite_errors = 0;
  std::uint64_t different = 0;
  std::uint64_t ulp_errors = 0;
  std::uint64_t accumulative_small = 0;
  std::uint64_t accumulative_small_errors = 0;
  std::uint64_t accumulative_normal = 0;
  std::uint64_t accumulative_relative_errors = 0;
  std::uint64_t accumulative_not_finite_errors = 0;
};

// Adds the part that follows `total`.
void merge(Tally& total, const Tally& part);
void merge(CosineSums& total, const CosineSums& part);

// The formats in which means are formed: double in documented arithmetic.
struct MeanFormats {
  FloatFormat error = kDouble;  // of E^2 and R
  FloatFormat ulp = kDouble;
};

// Everything but the cosine.
Metrics finish(const Tally& tally, const MeanFormats& means);

// REQUIRES: finite sums that neither overflowed nor vanished. NaN when a side is all zero.
double cosine(const CosineSums& sums, bool is_complex);

}  // namespace msprobe::measure
