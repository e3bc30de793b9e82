// SPDX-License-Identifier: Apache-2.0
#include "documented/cells.h"

namespace msprobe::documented {
namespace {

Cell share(std::uint64_t part, std::uint64_t whole, Profile profile) {
  if (whole == 0) return nothing(profile);
  return {Cell::Kind::kDouble, static_cast<double>(part) / static_cast<double>(whole)};
}

}  // namespace

Cell nothing(Profile profile) {
  return {profile == Profile::kDocumented ? Cell::Kind::kDouble : Cell::Kind::kInteger, 0};
}

// The public tool computes in the wider type of the two, bfloat16 as single.
Cell::Kind error_kind(const OutputPair& pair, Profile profile) {
  if (profile == Profile::kDocumented) return Cell::Kind::kDouble;
  const auto either = [&](DType d) { return pair.bench_dtype == d || pair.device_dtype == d; };
  if (either(DType::kFloat64)) return Cell::Kind::kDouble;
  if (pair.bench_dtype == DType::kFloat16 && pair.device_dtype == DType::kFloat16) {
    return Cell::Kind::kHalf;
  }
  return Cell::Kind::kSingle;
}

void fill_standard(DetailRow& row, Standard standard, const measure::Metrics& metrics,
                   const OutputPair& pair, Profile profile) {
  const Cell::Kind errors = error_kind(pair, profile);
  // The public tool's relative error of a tensor without dimensions comes out in double.
  const Cell::Kind relative = pair.device_shape.empty() ? Cell::Kind::kDouble : errors;
  const Cell::Kind ulp = pair.device_dtype == DType::kFloat32 ? Cell::Kind::kDouble : errors;
  const Cell none = nothing(profile);
  switch (standard) {
    case Standard::kNone:
      break;
    case Standard::kBenchmark:
      row.error_balance = {Cell::Kind::kDouble, metrics.error_balance};
      row.rmse = {Cell::Kind::kDouble, metrics.rmse};
      row.small_value_error_ratio = share(metrics.small_errors, metrics.small, profile);
      row.max_relative_error =
          metrics.normal == 0 ? none : Cell{relative, metrics.max_relative_error};
      row.mean_relative_error =
          metrics.normal == 0 ? none : Cell{relative, metrics.mean_relative_error};
      break;
    case Standard::kAbsoluteThreshold:
      // Documented: of all elements; public tool: of those that are not finite on either side.
      row.inf_nan_error_rate =
          share(metrics.not_finite_errors,
                profile == Profile::kDocumented ? metrics.count : metrics.not_finite, profile);
      row.relative_error_rate = share(metrics.relative_errors, metrics.normal, profile);
      row.absolute_error_rate = share(metrics.absolute_small_errors, metrics.small, profile);
      break;
    case Standard::kBinaryConsistency:
      row.binary_error_rate = share(metrics.different, metrics.count, profile);
      break;
    case Standard::kUlp:
      row.max_ulp_error = {ulp, metrics.max_ulp_error};
      row.mean_ulp_error = {ulp, metrics.mean_ulp_error};
      row.ulp_error_proportion = share(metrics.ulp_errors, metrics.count, profile);
      break;
    case Standard::kDual1000:
      row.dual_1000 = share(metrics.within_1000, metrics.count, profile);
      break;
  }
}

void fill_measured(DetailRow& row, Standard standard, const measure::Metrics& metrics,
                   const OutputPair& pair) {
  constexpr Profile kProfile = Profile::kDocumented;
  // "This metric is displayed only for" integers and APIs of its standard.
  if (standard == Standard::kBinaryConsistency) {
    fill_standard(row, standard, metrics, pair, kProfile);
  }
  row.max_abs_error = {Cell::Kind::kDouble, metrics.max_abs_error};
  if (is_integer_or_bool(pair.device_dtype)) return;
  row.dual_100 = share(metrics.within_100, metrics.count, kProfile);
  row.dual_1000 = share(metrics.within_1000, metrics.count, kProfile);
  row.dual_10000 = share(metrics.within_10000, metrics.count, kProfile);
  if (!has_new_standard(pair.device_dtype)) return;
  for (const Standard each : {Standard::kBenchmark, Standard::kAbsoluteThreshold, Standard::kUlp}) {
    fill_standard(row, each, metrics, pair, kProfile);
  }
}

void fill_all(DetailRow& row, const measure::Metrics& metrics, const OutputPair& pair,
              Profile profile) {
  fill_standard(row, Standard::kBinaryConsistency, metrics, pair, profile);
  const Cell::Kind errors = error_kind(pair, profile);
  if (is_integer_or_bool(pair.device_dtype) && is_integer_or_bool(pair.bench_dtype)) {
    row.max_abs_error = {Cell::Kind::kDouble, metrics.max_abs_error};
    return;
  }
  row.cosine = {Cell::Kind::kDouble, metrics.cosine};
  row.max_abs_error = {errors, metrics.max_abs_error};
  row.dual_100 = share(metrics.within_100, metrics.count, profile);
  row.dual_1000 = share(metrics.within_1000, metrics.count, profile);
  row.dual_10000 = share(metrics.within_10000, metrics.count, profile);
  if (!has_new_standard(pair.device_dtype)) return;
  for (const Standard standard :
       {Standard::kBenchmark, Standard::kAbsoluteThreshold, Standard::kUlp}) {
    fill_standard(row, standard, metrics, pair, profile);
  }
}

}  // namespace msprobe::documented
