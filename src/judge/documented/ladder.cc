// SPDX-License-Identifier: Apache-2.0
#include "documented/ladder.h"

#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "documented/judge.h"

namespace msprobe::documented {
namespace {

// The texts are the public tool's (the limits stand for 0.99 and 0.001 unless a user set others):
// scripts search for them.
constexpr std::string_view kScalar =
    "All the data in device dump data is scalar. Please refer to other compare algorithms.";
constexpr std::string_view kBothZero = "All the data in device and bench outputs are zero.";
constexpr std::string_view kDeviceZero = "All the data is zero in device dump data.";
constexpr std::string_view kBenchZero = "All the data is zero in bench dump data.";
constexpr std::string_view kCosineNan = "Dump data has NaN when comparing with Cosine Similarity.";
constexpr std::string_view kCosineError = "Cosine similarity is less than {}, consider as error";
constexpr std::string_view kMaxAbsPass = "Max abs error is less than {}, consider as pass";
constexpr std::string_view kDual100Error = "Relative error is greater than 0.01, consider as error";
constexpr std::string_view kDual1000Error =
    "Relative error is greater than 0.001, consider as error";
constexpr std::string_view kDual1000Warning =
    "Relative error is greater than 0.001, consider as warning";
constexpr std::string_view kDual1000Pass = "Relative error is less than 0.001, consider as pass";
constexpr std::string_view kDual10000Warning =
    "Relative error is greater than 0.0001, consider as warning";
constexpr std::string_view kDual10000Pass = "Relative error is less than 0.0001, consider as pass";
// The public tool says so after each of them but the last, for it leaves the further cells blank.
constexpr std::string_view kSetToSpace = ", skip other check and set to SPACE";

// Profile documented only.
constexpr std::string_view kNanCosineError = "Cosine similarity is NaN, consider as error";
constexpr std::string_view kOneSided =
    "NaN or Inf on one side only, consider as error regardless of the other metrics";

constexpr double kAllZero = 0x1p-52;  // public tool: absolute maxima up to here count as zero

void decide(DetailRow& row, Verdict verdict, std::string_view text, Profile profile) {
  row.status = verdict;
  if (profile == Profile::kDocumented) return add_sentence(row.message, fmt::format("{}.", text));
  const bool is_last = text == kDual10000Pass;
  row.message += fmt::format("{}{}.\n", text, is_last ? "" : kSetToSpace);
}

// There is no angle to a vector of zeros. Documented: two of them are alike, one has nothing of the
// other's direction; the public tool leaves the cell blank.
void show_cosine(DetailRow& row, double cosine, Profile profile) {
  if (profile == Profile::kDocumented) row.cosine = {Cell::Kind::kDouble, cosine};
}

// Whether the climb goes on. A cosine that cannot be computed leaves its cell blank.
bool cosine_holds(DetailRow& row, const measure::Metrics& metrics, double limit, Profile profile) {
  bool holds = true;
  std::string_view text;
  const bool device_zero = metrics.device_abs_max <= kAllZero;
  const bool bench_zero = metrics.bench_abs_max <= kAllZero;
  if (device_zero || bench_zero) show_cosine(row, device_zero && bench_zero ? 1 : 0, profile);
  if (metrics.count == 1) {
    text = kScalar;
    if (!device_zero && !bench_zero) show_cosine(row, metrics.cosine, profile);
  } else if (device_zero && bench_zero) {
    text = kBothZero;
  } else if (device_zero || bench_zero) {
    text = device_zero ? kDeviceZero : kBenchZero;
    holds = false;
  } else {
    row.cosine = {Cell::Kind::kDouble, metrics.cosine};
    if (std::isnan(metrics.cosine)) {
      text = kCosineNan;
      // decisions: a NaN is not above the limit. The public tool lets it pass.
      holds = profile == Profile::kReference;
    } else {
      holds = metrics.cosine > limit;
    }
  }
  if (profile == Profile::kDocumented) {
    if (text != kCosineNan) add_sentence(row.message, text);  // said again below
  } else {
    row.message += text;
    row.message += '\n';
  }
  if (!holds) {
    decide(row, Verdict::kError,
           text == kCosineNan ? std::string(kNanCosineError) : fmt::format(kCosineError, limit),
           profile);
  }
  return holds;
}

void judge_half(DetailRow& row, const LadderLimits& limits, double dual_100, double dual_1000,
                Profile profile) {
  row.dual_100 = {Cell::Kind::kDouble, dual_100};
  if (!(dual_100 > limits.dual_100)) return decide(row, Verdict::kError, kDual100Error, profile);
  row.dual_1000 = {Cell::Kind::kDouble, dual_1000};
  if (dual_1000 > limits.dual_1000) return decide(row, Verdict::kPass, kDual1000Pass, profile);
  decide(row, Verdict::kWarning, kDual1000Warning, profile);
}

void judge_wide(DetailRow& row, const LadderLimits& limits, double dual_1000, double dual_10000,
                Profile profile) {
  row.dual_1000 = {Cell::Kind::kDouble, dual_1000};
  row.dual_10000 = {Cell::Kind::kDouble, dual_10000};
  if (!(dual_1000 > limits.dual_1000)) return decide(row, Verdict::kError, kDual1000Error, profile);
  if (!(dual_10000 > limits.dual_10000))
    return decide(row, Verdict::kWarning, kDual10000Warning, profile);
  decide(row, Verdict::kPass, kDual10000Pass, profile);
}

void climb(DetailRow& row, const measure::Metrics& metrics, DType device,
           const LadderLimits& limits, Profile profile, Cell::Kind errors) {
  if (!cosine_holds(row, metrics, limits.cosine, profile)) return;
  row.max_abs_error = {errors, metrics.max_abs_error};
  if (metrics.max_abs_error < limits.max_abs_error) {
    return decide(row, Verdict::kPass, fmt::format(kMaxAbsPass, limits.max_abs_error), profile);
  }
  const auto share = [&](std::uint64_t within) {
    return static_cast<double>(within) / static_cast<double>(metrics.count);
  };
  if (device == DType::kFloat16 || device == DType::kBFloat16) {
    judge_half(row, limits, share(metrics.within_100), share(metrics.within_1000), profile);
  } else if (is_float8(device)) {
    row.status = Verdict::kPass;  // no rung further down is defined for 8-bit floats
  } else {
    judge_wide(row, limits, share(metrics.within_1000), share(metrics.within_10000), profile);
  }
}

}  // namespace

void climb_ladder(DetailRow& row, const measure::Metrics& metrics, DType device,
                  const LadderLimits& limits, Profile profile, Cell::Kind errors) {
  climb(row, metrics, device, limits, profile, errors);
  const bool failed = row.status == Verdict::kError;
  if (profile == Profile::kDocumented && metrics.not_finite_errors > 0 && !failed) {
    decide(row, Verdict::kError, kOneSided, profile);
  }
}

}  // namespace msprobe::documented
