// SPDX-License-Identifier: Apache-2.0
#include "tables/detail_columns.h"

namespace msprobe::tables {
namespace {

using judge::DetailRow;
using judge::ResultRow;

constexpr Column<DetailRow> kDetailColumns[] = {
    {"API name", "API Name", &DetailRow::api_name},
    {"Bench Dtype", "Bench Dtype", &DetailRow::bench_dtype},
    {"DEVICE Dtype", "DEVICE Dtype", &DetailRow::device_dtype},
    {"Shape", "Shape", &DetailRow::shape},
    {"Cosine similarity", "余弦相似度", &DetailRow::cosine},
    {"Maximum absolute error", "最大绝对误差", &DetailRow::max_abs_error},
    {"Dual-100 metric", "双百指标", &DetailRow::dual_100},
    {"Dual-1000 metric", "双千指标", &DetailRow::dual_1000},
    {"Dual-10000 metric", "双万指标", &DetailRow::dual_10000},
    {"Binary consistency error rate", "二进制一致错误率", &DetailRow::binary_error_rate},
    {"Error balance", "误差均衡性", &DetailRow::error_balance},
    {"Root-mean-square error (RMSE)", "均方根误差", &DetailRow::rmse},
    {"Error ratio in small value range", "小值域错误占比", &DetailRow::small_value_error_ratio},
    {"Maximum relative error", "相对误差最大值", &DetailRow::max_relative_error},
    {"Mean relative error", "相对误差平均值", &DetailRow::mean_relative_error},
    {"inf/nan error rate", "inf/nan错误率", &DetailRow::inf_nan_error_rate},
    {"Relative error rate", "相对误差错误率", &DetailRow::relative_error_rate},
    {"Absolute error rate", "绝对误差错误率", &DetailRow::absolute_error_rate},
    {"Maximum ULP error", "ULP误差最大值", &DetailRow::max_ulp_error},
    {"Mean ULP error", "ULP误差平均值", &DetailRow::mean_ulp_error},
    {"Proportion of ULP errors greater than the threshold", "ULP误差大于阈值占比",
     &DetailRow::ulp_error_proportion},
    {"Status", "Status", &DetailRow::status},
    {"Message", "Message", &DetailRow::message},
    {"Strict Status", "Strict Status", &DetailRow::strict_status, true},
    {"Strict Reason", "Strict Reason", &DetailRow::strict_reason, true},
    {"Likely Cause", "Likely Cause", &DetailRow::likely_cause, true},
    {"Rerun Command", "Rerun Command", &DetailRow::rerun_command, true},
};

constexpr Column<DetailRow> kMindSporeDetailColumns[] = {
    {"API Name", "API Name", &DetailRow::api_name},
    {"Bench Dtype", "Bench Dtype", &DetailRow::bench_dtype},
    {"Tested Dtype", "Tested Dtype", &DetailRow::device_dtype},
    {"Shape", "Shape", &DetailRow::shape},
    {"Cosine", "Cosine", &DetailRow::cosine},
    {"MaxAbsErr", "MaxAbsErr", &DetailRow::max_abs_error},
    {"MaxRelativeErr", "MaxRelativeErr", &DetailRow::max_relative_error},
    {"Status", "Status", &DetailRow::status},
    {"Message", "Message", &DetailRow::message},
    {"Strict Status", "Strict Status", &DetailRow::strict_status, true},
    {"Strict Reason", "Strict Reason", &DetailRow::strict_reason, true},
    {"Likely Cause", "Likely Cause", &DetailRow::likely_cause, true},
    {"Rerun Command", "Rerun Command", &DetailRow::rerun_command, true},
};

constexpr Column<ResultRow> kMindSporeResultColumns[] = {
    {"API Name", "API Name", &ResultRow::api_name},
    {"Forward Test Success", "Forward Test Success", &ResultRow::forward},
    {"Backward Test Success", "Backward Test Success", &ResultRow::backward},
    {"Message", "Message", &ResultRow::message},
};

constexpr Column<ResultRow> kResultColumns[] = {
    {"API name", "API name", &ResultRow::api_name},
    {"Forward Test Success", "Forward Test Success", &ResultRow::forward},
    {"Backward Test Success", "Backward Test Success", &ResultRow::backward},
    {"Message", "Message", &ResultRow::message},
};

}  // namespace

std::span<const Column<DetailRow>> detail_columns(judge::Profile profile) {
  return columns_of(std::span<const Column<DetailRow>>(kDetailColumns), profile);
}

std::span<const Column<ResultRow>> result_columns() { return kResultColumns; }

std::span<const Column<DetailRow>> mindspore_detail_columns(judge::Profile profile) {
  return columns_of(std::span<const Column<DetailRow>>(kMindSporeDetailColumns), profile);
}

std::span<const Column<ResultRow>> mindspore_result_columns() { return kMindSporeResultColumns; }

}  // namespace msprobe::tables
