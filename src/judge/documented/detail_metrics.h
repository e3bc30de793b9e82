// SPDX-License-Identifier: Apache-2.0
// The metrics of a details row: which cell holds each, and what it is called wherever it is shown.
#pragma once

#include <string_view>

#include "documented/detail_row.h"

namespace msprobe::documented {

struct DetailMetric {
  std::string_view english;
  std::string_view chinese;  // of the public tool
  Cell DetailRow::* cell;
};

inline constexpr DetailMetric kCosineMetric = {"Cosine similarity", "余弦相似度",
                                               &DetailRow::cosine};
inline constexpr DetailMetric kMaxAbsMetric = {"Maximum absolute error", "最大绝对误差",
                                               &DetailRow::max_abs_error};
inline constexpr DetailMetric kDual100Metric = {"Dual-100 metric", "双百指标",
                                                &DetailRow::dual_100};
inline constexpr DetailMetric kDual1000Metric = {"Dual-1000 metric", "双千指标",
                                                 &DetailRow::dual_1000};
inline constexpr DetailMetric kDual10000Metric = {"Dual-10000 metric", "双万指标",
                                                  &DetailRow::dual_10000};
inline constexpr DetailMetric kBinaryMetric = {"Binary consistency error rate", "二进制一致错误率",
                                               &DetailRow::binary_error_rate};
inline constexpr DetailMetric kBalanceMetric = {"Error balance", "误差均衡性",
                                                &DetailRow::error_balance};
inline constexpr DetailMetric kRmseMetric = {"Root-mean-square error (RMSE)", "均方根误差",
                                             &DetailRow::rmse};
inline constexpr DetailMetric kSmallValueMetric = {
    "Error ratio in small value range", "小值域错误占比", &DetailRow::small_value_error_ratio};
inline constexpr DetailMetric kMaxRelativeMetric = {"Maximum relative error", "相对误差最大值",
                                                    &DetailRow::max_relative_error};
inline constexpr DetailMetric kMeanRelativeMetric = {"Mean relative error", "相对误差平均值",
                                                     &DetailRow::mean_relative_error};
inline constexpr DetailMetric kInfNanRateMetric = {"inf/nan error rate", "inf/nan错误率",
                                                   &DetailRow::inf_nan_error_rate};
inline constexpr DetailMetric kRelativeRateMetric = {"Relative error rate", "相对误差错误率",
                                                     &DetailRow::relative_error_rate};
inline constexpr DetailMetric kAbsoluteRateMetric = {"Absolute error rate", "绝对误差错误率",
                                                     &DetailRow::absolute_error_rate};
inline constexpr DetailMetric kMaxUlpMetric = {"Maximum ULP error", "ULP误差最大值",
                                               &DetailRow::max_ulp_error};
inline constexpr DetailMetric kMeanUlpMetric = {"Mean ULP error", "ULP误差平均值",
                                                &DetailRow::mean_ulp_error};
inline constexpr DetailMetric kUlpProportionMetric = {
    "Proportion of ULP errors greater than the threshold", "ULP误差大于阈值占比",
    &DetailRow::ulp_error_proportion};

}  // namespace msprobe::documented
