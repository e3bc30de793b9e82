// SPDX-License-Identifier: Apache-2.0
// Files of the older recorder, judged by the rule of run_ut.
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "check/dialect.h"
#include "check/leaf_verdict.h"
#include "documented/older_rule.h"
#include "tables/older_columns.h"

namespace msprobe::check {
namespace {

using documented::Cell;
using documented::DetailRow;
using measure::Metrics;
using protocol::LeafKind;
using protocol::MeasuredLeaf;

constexpr documented::OlderLimits kLimits;
// For the messages alone.
constexpr double kMaxAbsError = 0.001;
constexpr double kMaxHalfRelativeError = 0.001;
constexpr double kMaxRelativeError = 0.0001;

constexpr double kZeroLimit = 0x1p-52;     // both sides below it: there is no direction
constexpr std::size_t kDirectionless = 1;  // a single number has none either

Cell cell(double value) { return {Cell::Kind::kDouble, value}; }

double share(std::uint64_t within, const Metrics& metrics) {
  return static_cast<double>(within) / static_cast<double>(metrics.count);
}

// Empty: no cosine, and none is asked for.
std::optional<double> cosine_of(const Metrics& metrics, std::string& message) {
  const bool no_device = metrics.device_abs_max <= kZeroLimit;
  const bool no_bench = metrics.bench_abs_max <= kZeroLimit;
  if (metrics.count <= kDirectionless || (no_device && no_bench)) return std::nullopt;
  if (no_device) message = "All the data is zero in npu dump data.";
  if (no_bench) message = "All the data is zero in bench dump data.";
  return no_device || no_bench ? std::nan("") : metrics.cosine;
}

bool is_within(double value, double limit, std::string& message) {
  if (value < limit) return true;
  message = fmt::format("not below {}", limit);
  return false;
}

bool is_above(double value, double limit, std::string& message) {
  if (value > limit) return true;
  message = fmt::format("not above {}", limit);
  return false;
}

bool is_equal(const MeasuredLeaf& leaf) {
  return leaf.metrics.different == 0 ||
         (leaf.metrics.not_finite == leaf.metrics.different &&
          leaf.metrics.not_finite_errors == 0 && leaf.metrics.max_ulp_error == 0);
}

void judge_floats(const MeasuredLeaf& leaf, DetailRow& row) {
  const Metrics& metrics = leaf.metrics;
  const bool half = documented::is_held_to_dual_1000(*leaf.device.dtype);
  const std::optional<double> cosine = cosine_of(metrics, row.cosine_message);
  row.cosine = cosine ? cell(*cosine) : Cell{};
  std::string cosine_message;
  const bool same_direction = !cosine || is_above(*cosine, kLimits.cosine, cosine_message);
  if (row.cosine_message.empty()) row.cosine_message = std::move(cosine_message);
  row.max_relative_error = cell(metrics.max_relative_error);
  (void)is_within(metrics.max_relative_error, half ? kMaxHalfRelativeError : kMaxRelativeError,
                  row.max_relative_message);
  row.max_abs_error = cell(metrics.max_abs_error);
  (void)is_within(metrics.max_abs_error, kMaxAbsError, row.max_abs_message);
  row.dual_1000 = cell(share(metrics.within_1000, metrics));
  row.dual_10000 = cell(share(metrics.within_10000, metrics));
  const bool thousandth = is_above(row.dual_1000.value, kLimits.dual_1000, row.dual_1000_message);
  const bool ten_thousandth =
      is_above(row.dual_10000.value, kLimits.dual_10000, row.dual_10000_message);
  const bool meets = half ? thousandth : ten_thousandth;
  row.status = is_equal(leaf) || (same_direction && meets) ? Verdict::kPass : Verdict::kError;
}

bool is_float_pair(const MeasuredLeaf& leaf) {
  return leaf.kind == LeafKind::kTensor && leaf.device.dtype && is_float(*leaf.device.dtype) &&
         leaf.metrics.count > 0;
}

DetailRow judge_older_leaf(const MeasuredLeaf& leaf, const documented::Context& context) {
  DetailRow row = judge_leaf(leaf, context);
  const bool dropout = leaf.dropout && leaf.dropout->probability != 0.0;
  if (is_float_pair(leaf) && !dropout) {
    row.message.clear();
    judge_floats(leaf, row);
    return row;
  }
  if (row.status == Verdict::kWarning) row.status = Verdict::kError;
  if (leaf.kind == LeafKind::kValue) {
    row.builtin = row.status == Verdict::kPass ? "True" : "False";
    row.builtin_message = row.message;
  } else if (leaf.kind == LeafKind::kNone) {
    row.status = Verdict::kPass;
    row.builtin_message = "output is None";
  }
  return row;
}

std::filesystem::path older_error_data(const Config& config, const journal::CsvPaths& /*paths*/,
                                       const dump::DumpIndex& /*dump*/) {
  return config.error_data_path / "ut_error_data";
}

}  // namespace

const Dialect& older_dialect() {
  static const Dialect dialect = [] {
    Dialect older = pytorch_dialect();
    older.name = "older";
    older.judge_leaf = &judge_older_leaf;
    older.detail_columns = &tables::older_detail_columns;
    older.result_columns = &tables::older_result_columns;
    older.style = tables::kOlderStyle;
    older.names.stamped = false;
    older.error_data = &older_error_data;
    return older;
  }();
  return dialect;
}

}  // namespace msprobe::check
