// Metrics of one pair of tensors: what the device computed beside what the benchmark computed.
#pragma once

#include <cstdint>

#include "core/result.h"
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

// How the arithmetic is done: the documents' double throughout, or the public tool's types with
// their overflow.
enum class Arithmetic : std::uint8_t { kDocumented, kReference };

struct Options {
  Thresholds thresholds;
  Arithmetic arithmetic = Arithmetic::kDocumented;
  int threads = 1;
};

// Every metric of section 5 for one pair of equal shape. Counts are exact; a metric whose set is
// empty is 0 with a count of 0.
struct Metrics {
  std::uint64_t count = 0;  // N

  // ladder
  double device_abs_max = 0;  // NaN when an element is NaN
  double bench_abs_max = 0;
  double cosine = 0;  // of the scaled vectors, clipped; NaN propagates. Meaningless when either
                      // side is all zero
  double max_abs_error = 0;        // NaN when any error is NaN
  std::uint64_t within_100 = 0;    // elements with relative error < 0.01
  std::uint64_t within_1000 = 0;   // < 0.001
  std::uint64_t within_10000 = 0;  // < 0.0001

  // benchmark algorithm
  double error_balance = 0;
  double rmse = 0;
  std::uint64_t small = 0;         // finite elements in the small-value range
  std::uint64_t small_errors = 0;  // of these, error above small_value_atol
  std::uint64_t normal = 0;        // finite elements outside it
  double max_relative_error = 0;   // over the normal elements
  double mean_relative_error = 0;

  // absolute-threshold algorithm
  std::uint64_t absolute_small_errors =
      0;                              // small elements with error above absolute_small_value_atol
  std::uint64_t relative_errors = 0;  // normal elements with relative error above rtol
  std::uint64_t not_finite = 0;       // elements not finite on either side
  std::uint64_t not_finite_errors =
      0;  // of these, judged different (documented: 5.5 [rec]; reference: 5.5 [ref])

  // binary consistency
  std::uint64_t different = 0;  // NaN differs from everything

  // ULP
  double max_ulp_error = 0;
  double mean_ulp_error = 0;
  std::uint64_t ulp_errors = 0;  // above ulp_count

  // accumulative error (reference profile only)
  std::uint64_t accumulative_small = 0;
  std::uint64_t accumulative_small_errors = 0;
  std::uint64_t accumulative_normal = 0;
  std::uint64_t accumulative_relative_errors = 0;
  std::uint64_t accumulative_not_finite_errors = 0;
};

// One streaming vectorised pass. Digits do not depend on `threads`. REQUIRES: equal element counts.
// Float, integer and bool pairs of any mix of dtypes; complex by the modulus of the difference.
Metrics measure(const TensorView& device, const TensorView& bench, const Options& options);

// The plain loop that defines it.
Metrics measure_reference(const TensorView& device, const TensorView& bench,
                          const Options& options);

}  // namespace msprobe::measure
