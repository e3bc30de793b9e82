// SPDX-License-Identifier: Apache-2.0
#include "tables/detail_columns.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "documented/detail_metrics.h"

namespace msprobe::tables {
namespace {

using documented::DetailRow;
using documented::ResultRow;

constexpr Column<DetailRow> metric(const documented::DetailMetric& shown) {
  return {shown.english, shown.chinese, shown.cell};
}

constexpr Column<DetailRow> kStrictColumns[] = {
    {"Strict Status", "Strict Status", &DetailRow::strict_status, true},
    {"Strict Reason", "Strict Reason", &DetailRow::strict_reason, true},
    {"Likely Cause", "Likely Cause", &DetailRow::likely_cause, true},
    {"Rerun Command", "Rerun Command", &DetailRow::rerun_command, true},
    {"Error Over Bound", "Error Over Bound", &DetailRow::error_over_bound, true},
};

// The documents' columns, then those of the strict status.
template <std::size_t kCount>
constexpr auto with_strict(const Column<DetailRow> (&documented)[kCount]) {
  std::array<Column<DetailRow>, kCount + std::size(kStrictColumns)> all;
  std::ranges::copy(kStrictColumns, std::ranges::copy(documented, all.begin()).out);
  return all;
}

constexpr auto kDetailColumns = with_strict({
    {"API name", "API Name", &DetailRow::api_name},
    {"Bench Dtype", "Bench Dtype", &DetailRow::bench_dtype},
    {"DEVICE Dtype", "DEVICE Dtype", &DetailRow::device_dtype},
    {"Shape", "Shape", &DetailRow::shape},
    metric(documented::kCosineMetric),
    metric(documented::kMaxAbsMetric),
    metric(documented::kDual100Metric),
    metric(documented::kDual1000Metric),
    metric(documented::kDual10000Metric),
    metric(documented::kBinaryMetric),
    metric(documented::kBalanceMetric),
    metric(documented::kRmseMetric),
    metric(documented::kSmallValueMetric),
    metric(documented::kMaxRelativeMetric),
    metric(documented::kMeanRelativeMetric),
    metric(documented::kInfNanRateMetric),
    metric(documented::kRelativeRateMetric),
    metric(documented::kAbsoluteRateMetric),
    metric(documented::kMaxUlpMetric),
    metric(documented::kMeanUlpMetric),
    metric(documented::kUlpProportionMetric),
    {"Status", "Status", &DetailRow::status},
    {"Message", "Message", &DetailRow::message},
});

constexpr auto kMindSporeDetailColumns = with_strict({
    {"API Name", "API Name", &DetailRow::api_name},
    {"Bench Dtype", "Bench Dtype", &DetailRow::bench_dtype},
    {"Tested Dtype", "Tested Dtype", &DetailRow::device_dtype},
    {"Shape", "Shape", &DetailRow::shape},
    {"Cosine", "Cosine", &DetailRow::cosine},
    {"MaxAbsErr", "MaxAbsErr", &DetailRow::max_abs_error},
    {"MaxRelativeErr", "MaxRelativeErr", &DetailRow::max_relative_error},
    {"Status", "Status", &DetailRow::status},
    {"Message", "Message", &DetailRow::message},
});

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

std::span<const Column<DetailRow>> detail_columns(documented::Profile profile) {
  return columns_of(std::span<const Column<DetailRow>>(kDetailColumns), profile);
}

std::span<const Column<ResultRow>> result_columns() { return kResultColumns; }

std::span<const Column<DetailRow>> mindspore_detail_columns(documented::Profile profile) {
  return columns_of(std::span<const Column<DetailRow>>(kMindSporeDetailColumns), profile);
}

std::span<const Column<ResultRow>> mindspore_result_columns() { return kMindSporeResultColumns; }

}  // namespace msprobe::tables
