// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/row_verdict.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "documented/detail_metrics.h"
#include "final_verdict/ratio.h"
#include "final_verdict/texts.h"

namespace msprobe::final_verdict {
namespace {

using documented::Cell;
using documented::CompareLimits;
using documented::DetailRow;
using documented::Profile;
using documented::Standard;
using VerdictField = std::optional<Verdict> CompareRow::*;

constexpr Text title_of(const documented::DetailMetric& metric) {
  return {metric.english, metric.chinese};
}

// A metric of the benchmark comparison, in the order of kKeptMetrics.
struct RatioMetric {
  Text title;  // of its column in the details CSV of a check
  Cell CompareRow::* ratio;
  VerdictField verdict;
  double CompareLimits::* limit;
  Text over;
};

constexpr std::array<RatioMetric, 5> kRatioMetrics = {{
    {title_of(documented::kSmallValueMetric),
     &CompareRow::small_value_ratio,
     &CompareRow::small_value_verdict,
     &CompareLimits::small_value_error_ratio,
     {"ERROR: error ratio in small value range exceeds the limit",
      "ERROR: 小值域错误比值超过阈值"}},
    {title_of(documented::kRmseMetric),
     &CompareRow::rmse_ratio,
     &CompareRow::rmse_verdict,
     &CompareLimits::rmse_ratio,
     {"ERROR: RMSE ratio exceeds the limit", "ERROR: 均方根误差比值超过阈值"}},
    {title_of(documented::kMaxRelativeMetric),
     &CompareRow::max_relative_error_ratio,
     &CompareRow::max_relative_error_verdict,
     &CompareLimits::max_relative_error_ratio,
     {"ERROR: maximum relative error ratio exceeds the limit",
      "ERROR: 相对误差最大值比值超过阈值"}},
    {title_of(documented::kMeanRelativeMetric),
     &CompareRow::mean_relative_error_ratio,
     &CompareRow::mean_relative_error_verdict,
     &CompareLimits::mean_relative_error_ratio,
     {"ERROR: mean relative error ratio exceeds the limit", "ERROR: 相对误差平均值比值超过阈值"}},
    {title_of(documented::kBalanceMetric),
     &CompareRow::error_balance_ratio,
     &CompareRow::error_balance_verdict,
     &CompareLimits::error_balance_ratio,
     {}},  // shown, never decides
}};

constexpr Text kMeanUlpTitle = title_of(documented::kMeanUlpMetric);
constexpr Text kUlpProportionTitle = title_of(documented::kUlpProportionMetric);

Cell shown(double value) { return {Cell::Kind::kDouble, value}; }
Verdict pass_if(bool good) { return good ? Verdict::kPass : Verdict::kError; }

void note_not_finite(std::string& message, const Ratio& ratio, const Text& title,
                     tables::Titles titles) {
  if (ratio.finite == Ratio::Finite::kBoth) return;
  const bool same = ratio.finite == Ratio::Finite::kSame;
  message += title.in(titles);
  message += (same ? kSameNotFinite : kNotFiniteDiffers).in(titles);
  message += '\n';
}

void add_line(std::string& message, const Text& text, tables::Titles titles) {
  message += text.in(titles);
  message += '\n';
}

Verdict judge_ratio(const Ratio& ratio, double limit) {
  if (ratio.finite != Ratio::Finite::kBoth) return pass_if(ratio.finite == Ratio::Finite::kSame);
  return pass_if(ratio.value <= limit);
}

void judge_benchmark(CompareRow& row, const DetailRow& npu, const GpuRow& gpu,
                     const documented::Subject& subject, const CompareRules& rules,
                     const CompareLimits& limits) {
  std::string lines;
  row.result = Verdict::kPass;
  for (std::size_t i = 0; i < kRatioMetrics.size(); ++i) {
    const RatioMetric& metric = kRatioMetrics[i];
    const Ratio found =
        ratio((npu.*kKeptMetrics[i]).value, gpu.metric(i).value, subject.dtype, rules.profile);
    const Verdict verdict = judge_ratio(found, limits.*metric.limit);
    row.*metric.ratio = shown(found.value);
    row.*metric.verdict = verdict;
    note_not_finite(row.message, found, metric.title, rules.titles);
    if (verdict == Verdict::kPass || metric.over.english.empty()) continue;
    row.result = verdict;
    add_line(lines, metric.over, rules.titles);
  }
  row.message += lines;
}

struct ZeroRate {
  Cell DetailRow::* npu;
  Cell CompareRow::* cell;
  VerdictField verdict;
  Text over;
};

constexpr ZeroRate kAbsoluteRates[] = {
    {&DetailRow::inf_nan_error_rate, &CompareRow::inf_nan_error_rate, &CompareRow::inf_nan_verdict,
     kInfNanRateOver},
    {&DetailRow::relative_error_rate, &CompareRow::relative_error_rate,
     &CompareRow::relative_error_verdict, kRelativeRateOver},
    {&DetailRow::absolute_error_rate, &CompareRow::absolute_error_rate,
     &CompareRow::absolute_error_verdict, kAbsoluteRateOver},
};
constexpr ZeroRate kBinaryRates[] = {
    {&DetailRow::binary_error_rate, &CompareRow::binary_error_rate, &CompareRow::binary_verdict,
     kBinaryOver},
};

// Each rate must be exactly 0. The public tool puts no line end behind the absolute-threshold
// texts.
void judge_rates(CompareRow& row, std::span<const ZeroRate> rates, const DetailRow& npu,
                 const CompareRules& rules, std::string_view line_end) {
  row.result = Verdict::kPass;
  for (const ZeroRate& rate : rates) {
    const double value = (npu.*rate.npu).value;
    row.*rate.cell = shown(value);
    row.*rate.verdict = pass_if(value == 0);
    if (value == 0) continue;
    row.result = Verdict::kError;
    row.message += rate.over.in(rules.titles);
    row.message += line_end;
  }
}

// Below one of the limits of its own, or below the reference device.
bool ulp_good(double mean, double proportion, const Cell& gpu_proportion, const Ratio& found,
              const CompareRules& rules, const CompareLimits& limits) {
  if (mean < limits.mean_ulp || proportion < limits.ulp_proportion) return true;
  if (rules.profile == Profile::kReference) return found.value < 1;
  return !gpu_proportion.blank() && proportion < gpu_proportion.value;
}

void judge_ulp(CompareRow& row, const DetailRow& npu, const GpuRow& gpu,
               const documented::Subject& subject, const CompareRules& rules,
               const CompareLimits& limits) {
  const double mean = npu.mean_ulp_error.value;
  const double proportion = npu.ulp_error_proportion.value;
  row.ulp_error_proportion = shown(proportion);
  if (is_float8(subject.dtype)) {
    row.result = pass_if(proportion < limits.ulp_proportion);
    row.ulp_verdict = row.result;
    if (row.result == Verdict::kError) add_line(row.message, kUlpOver, rules.titles);
    return;
  }
  row.mean_ulp_error = shown(mean);
  const Cell gpu_mean = gpu.metric(kMeanUlp);
  const Cell gpu_proportion = gpu.metric(kUlpProportion);
  const Ratio means = ratio(mean, gpu_mean.value, subject.dtype, rules.profile);
  const Ratio proportions = ratio(proportion, gpu_proportion.value, subject.dtype, rules.profile);
  const bool measured = !gpu_proportion.blank() || rules.profile == Profile::kReference;
  if (measured) row.ulp_error_ratio = shown(proportions.value);
  note_not_finite(row.message, means, kMeanUlpTitle, rules.titles);
  note_not_finite(row.message, proportions, kUlpProportionTitle, rules.titles);
  if (means.finite == Ratio::Finite::kDiffers || proportions.finite == Ratio::Finite::kDiffers) {
    row.result = Verdict::kError;
    // The public tool leaves the cell blank here.
    if (rules.profile == Profile::kDocumented) row.ulp_verdict = Verdict::kError;
    return;
  }
  row.result = pass_if(ulp_good(mean, proportion, gpu_proportion, proportions, rules, limits));
  row.ulp_verdict = row.result;
  if (row.result == Verdict::kError) add_line(row.message, kUlpOver, rules.titles);
}

void judge_dual_1000(CompareRow& row, const DetailRow& npu, const CompareRules& rules,
                     const CompareLimits& limits) {
  const double value = npu.dual_1000.value;
  row.dual_1000 = shown(value);
  const bool at_limit = rules.profile == Profile::kReference && value == limits.dual_1000;
  row.result = pass_if(value > limits.dual_1000 || at_limit);
  row.dual_1000_verdict = row.result;
  if (row.result == Verdict::kError) add_line(row.message, kDual1000Below, rules.titles);
}

}  // namespace

bool has_metrics(const DetailRow& npu, Standard standard) {
  const auto filled = [&](std::initializer_list<Cell DetailRow::*> cells) {
    return std::ranges::none_of(cells, [&](auto cell) { return (npu.*cell).blank(); });
  };
  switch (standard) {
    case Standard::kNone:
      return false;
    case Standard::kBenchmark:
      return filled(
          {kKeptMetrics[0], kKeptMetrics[1], kKeptMetrics[2], kKeptMetrics[3], kKeptMetrics[4]});
    case Standard::kAbsoluteThreshold:
      return filled({kAbsoluteRates[0].npu, kAbsoluteRates[1].npu, kAbsoluteRates[2].npu});
    case Standard::kBinaryConsistency:
      return filled({&DetailRow::binary_error_rate});
    case Standard::kUlp:
      return filled({&DetailRow::mean_ulp_error, &DetailRow::ulp_error_proportion});
    case Standard::kDual1000:
      return filled({&DetailRow::dual_1000});
  }
  return false;
}

void judge_row(CompareRow& row, Standard standard, const DetailRow& npu, const GpuRow& gpu,
               const documented::Subject& subject, const CompareRules& rules) {
  const CompareLimits limits = documented::limits_for(subject, rules.profile, rules.standards);
  row.algorithm = algorithm_title(standard, rules.titles);
  switch (standard) {
    case Standard::kNone:
      break;
    case Standard::kBenchmark:
      judge_benchmark(row, npu, gpu, subject, rules, limits);
      break;
    case Standard::kAbsoluteThreshold:
      judge_rates(row, kAbsoluteRates, npu, rules,
                  rules.titles == tables::Titles::kChinese ? "" : "\n");
      break;
    case Standard::kBinaryConsistency:
      judge_rates(row, kBinaryRates, npu, rules, "\n");
      break;
    case Standard::kUlp:
      judge_ulp(row, npu, gpu, subject, rules, limits);
      break;
    case Standard::kDual1000:
      judge_dual_1000(row, npu, rules, limits);
      break;
  }
}

}  // namespace msprobe::final_verdict
