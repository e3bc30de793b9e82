// SPDX-License-Identifier: Apache-2.0
#include "tables/older_columns.h"

namespace msprobe::tables {
namespace {

using documented::DetailRow;
using documented::ResultRow;

// The older tool has one set of titles.
constexpr Column<DetailRow> both(std::string_view title, Field<DetailRow> field,
                                 bool added = false) {
  return {title, title, field, added};
}

constexpr Column<DetailRow> kOlderDetailColumns[] = {
    both("Npu Name", &DetailRow::api_name),
    both("Bench Dtype", &DetailRow::bench_dtype),
    both("NPU Dtype", &DetailRow::device_dtype),
    both("Shape", &DetailRow::shape),
    both(kOlderCosine, &DetailRow::cosine),
    both("Cosine Similarity Message", &DetailRow::cosine_message),
    both("Max Rel Error", &DetailRow::max_relative_error),
    both("Max Rel Err Message", &DetailRow::max_relative_message),
    both("Max Abs Error", &DetailRow::max_abs_error),
    both("Max Abs Err Message", &DetailRow::max_abs_message),
    both(kOlderDual1000, &DetailRow::dual_1000),
    both("Relative Error (dual thousandth) Message", &DetailRow::dual_1000_message),
    both(kOlderDual10000, &DetailRow::dual_10000),
    both("Relative Error (dual ten thousandth) Message", &DetailRow::dual_10000_message),
    both("Compare Builtin Type", &DetailRow::builtin),
    both("Builtin Type Message", &DetailRow::builtin_message),
    both("Pass", &DetailRow::status),
    both("Message", &DetailRow::message, true),
    both("Strict Status", &DetailRow::strict_status, true),
    both("Strict Reason", &DetailRow::strict_reason, true),
    both("Likely Cause", &DetailRow::likely_cause, true),
    both("Rerun Command", &DetailRow::rerun_command, true),
    both("Error Over Bound", &DetailRow::error_over_bound, true),
};

constexpr Column<ResultRow> kOlderResultColumns[] = {
    {"API name", "API name", &ResultRow::api_name},
    {"Forward Test Success", "Forward Test Success", &ResultRow::forward},
    {"Backward Test Success", "Backward Test Success", &ResultRow::backward},
    {"Message", "Message", &ResultRow::message},
};

}  // namespace

std::span<const Column<DetailRow>> older_detail_columns(documented::Profile profile) {
  return columns_of(std::span<const Column<DetailRow>>(kOlderDetailColumns), profile);
}

std::span<const Column<ResultRow>> older_result_columns() { return kOlderResultColumns; }

}  // namespace msprobe::tables
