// SPDX-License-Identifier: Apache-2.0
#include "measure/tally.h"

#include <algorithm>

#include "core/modulus.h"

namespace msprobe::measure {

void merge(Tally& total, const Tally& part) {
  for (const auto maximum : {&Tally::device_abs_max, &Tally::bench_abs_max, &Tally::max_abs_error,
                             &Tally::max_ulp_error, &Tally::max_relative_error}) {
    total.*maximum = larger(total.*maximum, part.*maximum);
  }
  merge(total.products, part.products);
  total.balance += part.balance;
  for (const auto sum :
       {&Tally::error_squares, &Tally::relative_errors_sum, &Tally::ulp_errors_sum}) {
    total.*sum += part.*sum;
  }
  for (const auto counter :
       {&Tally::count, &Tally::within_100, &Tally::within_1000, &Tally::within_10000, &Tally::small,
        &Tally::small_errors, &Tally::absolute_small_errors, &Tally::normal,
        &Tally::relative_errors, &Tally::not_finite, &Tally::not_finite_errors, &Tally::different,
        &Tally::ulp_errors, &Tally::accumulative_small, &Tally::accumulative_small_errors,
        &Tally::accumulative_normal, &Tally::accumulative_relative_errors,
        &Tally::accumulative_not_finite_errors}) {
    total.*counter += part.*counter;
  }
}

void merge(CosineSums& total, const CosineSums& part) {
  for (const auto sum : {&CosineSums::dot, &CosineSums::dot_imaginary, &CosineSums::device_squares,
                         &CosineSums::bench_squares}) {
    total.*sum += part.*sum;
  }
}

namespace {

// The mean of `n` elements whose sum is `sum`, formed in `format`: a sum beyond its range is
// infinite. Halves are summed in single precision.
double mean(double sum, std::uint64_t n, const FloatFormat& format) {
  const FloatFormat& summed = format.mantissa_bits < kSingle.mantissa_bits ? kSingle : format;
  return round_to(format, round_to(summed, sum) / static_cast<double>(n));
}

// The two 0.0001 are part of the definition.
double rmse(const Tally& tally, const FloatFormat& format) {
  if (tally.normal == 0) return 0;
  const auto n = static_cast<double>(tally.count);
  const auto normal = static_cast<double>(tally.normal);
  return std::sqrt(mean(tally.error_squares, tally.count, format) *
                   (n / (normal + 0.0001) + 0.0001));
}

}  // namespace

Metrics finish(const Tally& tally, const MeanFormats& means) {
  Metrics metrics;
  if (tally.count == 0) return metrics;
  metrics.count = tally.count;
  metrics.device_abs_max = tally.device_abs_max;
  metrics.bench_abs_max = tally.bench_abs_max;
  metrics.max_abs_error = tally.max_abs_error;
  metrics.within_100 = tally.within_100;
  metrics.within_1000 = tally.within_1000;
  metrics.within_10000 = tally.within_10000;

  metrics.error_balance =
      std::abs(static_cast<double>(tally.balance)) / static_cast<double>(tally.count);
  metrics.rmse = rmse(tally, means.error);
  metrics.small = tally.small;
  metrics.small_errors = tally.small_errors;
  metrics.normal = tally.normal;
  if (tally.normal > 0) {
    metrics.max_relative_error = tally.max_relative_error;
    metrics.mean_relative_error = mean(tally.relative_errors_sum, tally.normal, means.error);
  }

  metrics.absolute_small_errors = tally.absolute_small_errors;
  metrics.relative_errors = tally.relative_errors;
  metrics.not_finite = tally.not_finite;
  metrics.not_finite_errors = tally.not_finite_errors;
  metrics.different = tally.different;
  metrics.ulp_errors = tally.ulp_errors;
  if (tally.max_ulp_error != -kInfinity) {
    metrics.max_ulp_error = tally.max_ulp_error;
    metrics.mean_ulp_error = mean(tally.ulp_errors_sum, tally.count, means.ulp);
  }
  metrics.accumulative_small = tally.accumulative_small;
  metrics.accumulative_small_errors = tally.accumulative_small_errors;
  metrics.accumulative_normal = tally.accumulative_normal;
  metrics.accumulative_relative_errors = tally.accumulative_relative_errors;
  metrics.accumulative_not_finite_errors = tally.accumulative_not_finite_errors;
  return metrics;
}

double cosine(const CosineSums& sums, bool is_complex) {
  const double dot = is_complex ? modulus(sums.dot, sums.dot_imaginary) : sums.dot;
  const double norms = std::sqrt(sums.device_squares) * std::sqrt(sums.bench_squares);
  return std::clamp(dot / norms, -1.0, 1.0);
}

}  // namespace msprobe::measure
