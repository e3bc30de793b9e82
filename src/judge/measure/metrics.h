// SPDX-License-Identifier: Apache-2.0
// Metrics of one pair of tensors: what the device computed (D) beside what the benchmark computed
// (B). Definitions that every field shares, element by element:
//
//   E       |D - B|
//   eps     2^-8 for a bfloat16 device, else the machine epsilon of bench (float16 2^-10,
//           float32 2^-23, float64 and integers 2^-52; formats no host array has count as float32)
//   R       E / (|B| + eps)
//   B'      B rounded to the type the host holds the device's elements in: their own for float16,
//           float32 and float64, float32 for bfloat16 and the 8-bit formats
//   finite  D and B' are finite
//   small   finite and |B| <= small_value; normal: finite and not small
//   U       |D - B| * 2^(mantissa_bits - e), e = max(floor(log2|B|), min_exponent)
//
// What is measured depends on the kinds of the two dtypes:
//   float and 8-bit float, also against integers: every field (ULP only for device float16,
//   bfloat16, float32 and the 8-bit formats);
//   complex on either side: E and |B| are moduli, cosine is |<D,B>| / (|D||B|), error_balance and
//   the ULP fields stay 0;
//   integers and bools on both sides: count, the two abs_max, max_abs_error and different, all
//   exact whatever the width.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace msprobe::measure {

// The thresholds a metric counts against; they come from judge's tables.
struct Thresholds {
  double small_value = 0;  // |bench| at or below it: the small-value range
  double small_value_atol =
      0;  // error above it, inside the small-value range, is an error (benchmark algorithm)
  double absolute_small_value_atol = 0;  // the same for the absolute-threshold algorithm
  double rtol = 0;                       // absolute-threshold algorithm, ordinary values
  double ulp_count = 1;                  // ULP error above it counts into the proportion
  double accumulative_bound = 0;         // accumulative-error algorithm: one bound, small value 1
};

// How the arithmetic is done.
// kDocumented: double throughout.
// kReference: as today's public tool, in the wider of the two host types with its overflow (half
// when both sides are float16, float32 for bfloat16 with anything); thresholds are rounded to the
// type they are compared in; means are rounded to the type of their elements; ULP in double for a
// float32 device and in float32 (half for two float16) otherwise, e = 0 where B = 0; 8-bit ULP
// signed; differences of equal integer types wrap around. Pairs of floats only: a float against an
// integer and complex pairs are not comparable there and are measured as documented.
enum class Arithmetic : std::uint8_t { kDocumented, kReference };

struct MeasureOptions {
  Thresholds thresholds = {};
  Arithmetic arithmetic = Arithmetic::kDocumented;
  int threads = 1;
};

// Every metric for one pair of equal shape. Counts are exact; a metric whose set is empty is 0 with
// a count of 0, so every field of an empty pair is 0.
struct Metrics {
  std::uint64_t count = 0;  // N

  // ladder
  double device_abs_max = 0;  // NaN when an element is NaN
  double bench_abs_max = 0;
  double cosine = 0;             // of D/device_abs_max and B/bench_abs_max, in [-1, 1]. NaN when an
                                 // element of either side is not finite or either side is all zero
  double max_abs_error = 0;      // NaN when any error is NaN: NaN on a side, equal infinities
  std::uint64_t within_100 = 0;  // elements with R < 0.01; a NaN is not within
  std::uint64_t within_1000 = 0;   // R < 0.001
  std::uint64_t within_10000 = 0;  // R < 0.0001

  // benchmark algorithm: NaN and infinity are left out, except that they count into N
  double error_balance = 0;  // |count(D > B') - count(D < B')| / N; NaN is on neither side
  double rmse = 0;           // sqrt(sum of E^2 over normal / N * (N / (normal + 1e-4) + 1e-4))
  std::uint64_t small = 0;   // elements in the small-value range
  std::uint64_t small_errors = 0;  // of these, E > small_value_atol
  std::uint64_t normal = 0;        // finite elements outside it
  double max_relative_error = 0;   // of R over the normal elements
  double mean_relative_error = 0;

  // absolute-threshold algorithm
  std::uint64_t absolute_small_errors = 0;  // small elements, E > absolute_small_value_atol
  std::uint64_t relative_errors = 0;        // normal elements, R > rtol
  std::uint64_t not_finite = 0;             // elements that are not finite (D or B')
  // Of these, judged different. Documented: one side only is NaN, one side only is infinite, or the
  // infinities have opposite signs, B rounded to the device's dtype. Reference: after clipping D
  // and B' to the dtype's finite range, |D - B'| / (|B| + eps) is above rtol (NaN is), unless both
  // are NaN; so a finite D passes against an infinite B.
  std::uint64_t not_finite_errors = 0;

  // binary consistency
  std::uint64_t different = 0;  // D != B as they are, exact; NaN differs from everything
  // Every D equals its B, a NaN another NaN. In documented arithmetic only.
  bool identical = false;

  // ULP; U is NaN where D is NaN or B is not finite, and then so are both of these
  double max_ulp_error = 0;
  double mean_ulp_error = 0;
  std::uint64_t ulp_errors = 0;  // U > ulp_count

  // accumulative error, in reference arithmetic only: as the absolute-threshold algorithm with
  // small_value 1 and accumulative_bound for both tolerances
  std::uint64_t accumulative_small = 0;
  std::uint64_t accumulative_small_errors = 0;
  std::uint64_t accumulative_normal = 0;
  std::uint64_t accumulative_relative_errors = 0;
  std::uint64_t accumulative_not_finite_errors = 0;
};

// One streaming vectorised pass in fixed chunks that are merged in index order: digits do not
// depend on `threads`, memory not on the size. REQUIRES: equal element counts.
//
// Against measure_reference: counts and maxima are equal. rmse, mean_relative_error and
// mean_ulp_error differ by at most a relative (count + 16) * 2^-52, which is what summing `count`
// terms in another order can do, and cosine by at most (count + 16) * 2^-50. In documented
// arithmetic, float16 and bfloat16 against float32 or their own kind are summed in float over at
// most 128 elements: add 2^-18 to the former and 2^-17 to the latter.
Metrics measure(const TensorView& device, const TensorView& bench, const MeasureOptions& options);

// The plain loop that defines it.
Metrics measure_reference(const TensorView& device, const TensorView& bench,
                          const MeasureOptions& options);

}  // namespace msprobe::measure
