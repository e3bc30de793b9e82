// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/compare_columns.h"

#include "documented/detail_metrics.h"

namespace msprobe::final_verdict {
namespace {

using documented::ResultRow;

// Under the title that the metric has in the details of a check.
constexpr tables::Column<CompareRow> as_in_check(const documented::DetailMetric& metric,
                                                 documented::Cell CompareRow::* cell) {
  return {metric.english, metric.chinese, cell};
}

constexpr tables::Column<CompareRow> kComparedDetailColumns[] = {
    {"API name", "API Name", &CompareRow::api_name},
    {kSmallValueRatioTitle, "小值域错误比值", &CompareRow::small_value_ratio},
    {"Error determination result in small value range", "小值域判定结果",
     &CompareRow::small_value_verdict},
    {kRmseRatioTitle, "均方根误差比值", &CompareRow::rmse_ratio},
    {"RMSE determination result", "均方根误差判定结果", &CompareRow::rmse_verdict},
    {kMaxRelativeRatioTitle, "相对误差最大值比值", &CompareRow::max_relative_error_ratio},
    {"Maximum relative error determination result", "相对误差最大值判定结果",
     &CompareRow::max_relative_error_verdict},
    {kMeanRelativeRatioTitle, "相对误差平均值比值", &CompareRow::mean_relative_error_ratio},
    {"Mean relative error determination result", "相对误差平均值判定结果",
     &CompareRow::mean_relative_error_verdict},
    {kBalanceRatioTitle, "误差均衡性比值", &CompareRow::error_balance_ratio},
    {"Error balance determination result", "误差均衡性判定结果",
     &CompareRow::error_balance_verdict},
    {kInfNanRateTitle, "inf/nan错误率", &CompareRow::inf_nan_error_rate},
    {"INF/NaN determination result", "inf/nan判定结果", &CompareRow::inf_nan_verdict},
    as_in_check(documented::kRelativeRateMetric, &CompareRow::relative_error_rate),
    {"Relative error determination result", "相对误差判定结果",
     &CompareRow::relative_error_verdict},
    as_in_check(documented::kAbsoluteRateMetric, &CompareRow::absolute_error_rate),
    {"Absolute error determination result", "绝对误差判定结果",
     &CompareRow::absolute_error_verdict},
    as_in_check(documented::kBinaryMetric, &CompareRow::binary_error_rate),
    {"Binary consistency error rate determination result", "二进制一致错误率判定结果",
     &CompareRow::binary_verdict},
    as_in_check(documented::kMeanUlpMetric, &CompareRow::mean_ulp_error),
    as_in_check(documented::kUlpProportionMetric, &CompareRow::ulp_error_proportion),
    {"Ratio of ULP error greater than the threshold", "ULP误差大于阈值占比比值",
     &CompareRow::ulp_error_ratio},
    {"ULP error determination result", "ULP误差判定结果", &CompareRow::ulp_verdict},
    as_in_check(documented::kDual1000Metric, &CompareRow::dual_1000),
    {"Dual-1000 metric determination result", "双千指标判定结果", &CompareRow::dual_1000_verdict},
    {"Comparison result", "比对结果", &CompareRow::result},
    {"Comparison algorithm", "比对算法", &CompareRow::algorithm},
    {"Message", "Message", &CompareRow::message},
    {"NPU Strict Status", "NPU Strict Status", &CompareRow::strict_device, true},
    {"GPU Strict Status", "GPU Strict Status", &CompareRow::strict_reference, true},
    {"Strict Verdict", "Strict Verdict", &CompareRow::strict_verdict, true},
};

constexpr tables::Column<ResultRow> kComparedResultColumns[] = {
    {"API name", "API Name", &ResultRow::api_name},
    {"Forward Test Success", "Forward Test Success", &ResultRow::forward},
    {"Backward Test Success", "Backward Test Success", &ResultRow::backward},
    {"Message", "Message", &ResultRow::message},
    {"NPU Strict Status", "NPU Strict Status", &ResultRow::strict, true},
    {"GPU Strict Status", "GPU Strict Status", &ResultRow::strict_reference, true},
    {"Strict Verdict", "Strict Verdict", &ResultRow::strict_verdict, true},
};

}  // namespace

std::span<const tables::Column<CompareRow>> compare_detail_columns(documented::Profile profile) {
  return tables::columns_of(std::span<const tables::Column<CompareRow>>(kComparedDetailColumns),
                            profile);
}

std::span<const tables::Column<ResultRow>> compare_result_columns(documented::Profile profile) {
  return tables::columns_of(std::span<const tables::Column<ResultRow>>(kComparedResultColumns),
                            profile);
}

}  // namespace msprobe::final_verdict
