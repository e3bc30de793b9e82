// SPDX-License-Identifier: Apache-2.0
#include "report/shown_limits.h"

#include "documented/detail_metrics.h"
#include "documented/mindspore.h"
#include "documented/older_rule.h"
#include "final_verdict/compare_columns.h"
#include "tables/older_columns.h"

namespace msprobe::report {
namespace {

using documented::CompareLimits;
using documented::LadderLimits;
using documented::Standard;

constexpr std::string_view kDocument = "document";
// Below the reference device's proportion is the other way to pass.
constexpr std::string_view kOneOf = "one suffices";
constexpr std::string_view kUser = "your standards file";

// The document, unless the user's file says otherwise.
std::string_view origin(double value, double built_in, std::string_view otherwise = kDocument) {
  return value == built_in ? otherwise : kUser;
}

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

Limit binary_limit() {
  return {documented::kBinaryMetric.english, "=", 0, "else error", kDocument};
}

void add_ulp(Limits& out, DType dtype, const CompareLimits& mine, const CompareLimits& built_in) {
  if (dtype == DType::kFloat32) {
    out.push_back({documented::kMeanUlpMetric.english, "<", mine.mean_ulp, kOneOf,
                   origin(mine.mean_ulp, built_in.mean_ulp)});
  }
  out.push_back({documented::kUlpProportionMetric.english, "<", mine.ulp_proportion, kOneOf,
                 origin(mine.ulp_proportion, built_in.ulp_proportion,
                        is_float8(dtype) ? "public tool" : kDocument)});
}

void add_ratios(Limits& out, const CompareLimits& mine, const CompareLimits& built_in,
                std::string_view listed) {
  const auto add = [&](std::string_view title, double CompareLimits::* member,
                       std::string_view from, std::string_view effect = "else error") {
    out.push_back(
        {title, "<=", mine.*member, effect, origin(mine.*member, built_in.*member, from)});
  };
  add(final_verdict::kSmallValueRatioTitle, &CompareLimits::small_value_error_ratio, kDocument);
  add(final_verdict::kRmseRatioTitle, &CompareLimits::rmse_ratio, listed);
  add(final_verdict::kMaxRelativeRatioTitle, &CompareLimits::max_relative_error_ratio, listed);
  add(final_verdict::kMeanRelativeRatioTitle, &CompareLimits::mean_relative_error_ratio, listed);
  add(final_verdict::kBalanceRatioTitle, &CompareLimits::error_balance_ratio, kDocument,
      "shown only");
}

std::string_view level_origin(documented::Level level) {
  switch (level) {
    case documented::Level::kL0:
      return "document, level L0";
    case documented::Level::kL1:
      return "document, level L1";
    case documented::Level::kL2:
      break;
  }
  return "document, level L2";
}

}  // namespace

Limits mindspore_limits(const JudgedBy& judged_by) {
  const documented::MindSporeLimits limits = documented::mindspore_limits(judged_by.profile);
  return {{kMindSporeCosine, ">", limits.cosine, "else error", kDocument},
          {"MaxAbsErr", "<", limits.max_abs_error, "else error", kDocument}};
}

Limits older_limits(DType dtype) {
  if (!is_float(dtype)) return {};
  const documented::OlderLimits limits;
  const bool half = documented::is_held_to_dual_1000(dtype);
  return {{tables::kOlderCosine, ">", limits.cosine, "else error", kDocument},
          {half ? tables::kOlderDual1000 : tables::kOlderDual10000, ">",
           half ? limits.dual_1000 : limits.dual_10000, "else error", kDocument}};
}

Limits check_limits(std::string_view api, DType dtype, const JudgedBy& judged_by) {
  if (is_integer_or_bool(dtype)) return {binary_limit()};
  const LadderLimits mine = documented::ladder_for(
      {.api = api, .dtype = dtype, .device = judged_by.device}, judged_by.standards);
  const LadderLimits built_in;
  Limits out{{documented::kCosineMetric.english, ">", mine.cosine, "else error",
              origin(mine.cosine, built_in.cosine)},
             {documented::kMaxAbsMetric.english, "<", mine.max_abs_error, "then pass",
              origin(mine.max_abs_error, built_in.max_abs_error)}};
  if (is_float8(dtype)) return out;
  if (is_half(dtype)) {
    out.push_back({documented::kDual100Metric.english, ">", mine.dual_100, "else error",
                   origin(mine.dual_100, built_in.dual_100)});
  }
  out.push_back({documented::kDual1000Metric.english, ">", mine.dual_1000,
                 is_half(dtype) ? "else warning" : "else error",
                 origin(mine.dual_1000, built_in.dual_1000)});
  if (!is_half(dtype)) {
    out.push_back({documented::kDual10000Metric.english, ">", mine.dual_10000, "else warning",
                   origin(mine.dual_10000, built_in.dual_10000)});
  }
  return out;
}

Limits compare_limits(std::string_view api, const DType* dtype, Standard standard,
                      const JudgedBy& judged_by) {
  const documented::Subject subject{
      .api = api, .dtype = dtype != nullptr ? *dtype : DType::kFloat32, .device = judged_by.device};
  const CompareLimits mine =
      documented::limits_for(subject, judged_by.profile, judged_by.standards);
  const CompareLimits built_in = documented::limits_for(subject, judged_by.profile, {});
  Limits out;
  switch (standard) {
    case Standard::kNone:
      break;
    case Standard::kBenchmark:
      add_ratios(out, mine, built_in,
                 level_origin(documented::level_for(subject, judged_by.profile, {})));
      break;
    case Standard::kAbsoluteThreshold:
      out = {{final_verdict::kInfNanRateTitle, "=", 0, "else error", kDocument},
             {documented::kRelativeRateMetric.english, "=", 0, "else error", kDocument},
             {documented::kAbsoluteRateMetric.english, "=", 0, "else error", kDocument}};
      break;
    case Standard::kBinaryConsistency:
      out = {binary_limit()};
      break;
    case Standard::kUlp:
      if (dtype != nullptr) add_ulp(out, *dtype, mine, built_in);
      break;
    case Standard::kDual1000:
      out = {{documented::kDual1000Metric.english, ">", mine.dual_1000, "else error",
              origin(mine.dual_1000, built_in.dual_1000)}};
      break;
  }
  return out;
}

}  // namespace msprobe::report
