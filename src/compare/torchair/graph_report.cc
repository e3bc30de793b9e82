// SPDX-License-Identifier: Apache-2.0
#include "torchair/graph_report.h"

#include <fmt/format.h>

#include "documented/judge.h"
#include "torchair/criteria.h"

namespace msprobe::torchair {
namespace {

using report::kNoNumber;
using report::ReportCall;
using report::ReportRow;

// Real data, then statistics; a row has numbers of one kind.
constexpr report::Metric kMetrics[] = {
    {"1 - cosine", ""},
    {"Maximum relative error", ""},
    {"Maximum absolute error", ""},
    {"Mean absolute error", ""},
    {"Euclidean distance", ""},
    {"Relative difference of max", ""},
    {"Relative difference of min", ""},
    {"Relative difference of mean", ""},
    {"Relative difference of l2 norm", ""},
};
constexpr std::size_t kRealNumbers = 5;
// 1 - kMinCosine, in decimal digits.
constexpr double kMostCosineDistance = 0.01;
static_assert(kMostCosineDistance + kMinCosine == 1);
constexpr std::uint32_t kRealLimits = 1;
constexpr std::uint32_t kStatisticLimits = 2;

std::vector<double> numbers_of(const TensorRow& row) {
  std::vector<double> numbers(std::size(kMetrics), kNoNumber);
  if (row.real) {
    const measure::Similarity& found = row.real->similarity;
    numbers[0] = found.cosine_distance;
    numbers[1] = found.max_relative_error;
    numbers[2] = found.max_abs_error;
    numbers[3] = found.mean_abs_error;
    numbers[4] = found.euclidean_distance;
  }
  for (std::size_t i = 0; row.statistics && i < kStatistics; ++i) {
    const std::optional<double> relative = relative_difference((*row.statistics)[i]);
    if (relative) numbers[kRealNumbers + i] = *relative;
  }
  return numbers;
}

std::string place_of(const TensorRow& row) {
  return fmt::format("rank {}, graph {}, token {}", row.rank, row.graph, row.token);
}

std::string message_of(const TensorRow& row) {
  std::string text;
  for (const std::string* part : {&row.reason, &row.problem, &row.message}) {
    if (part->empty() || text.find(*part) != std::string::npos) continue;
    if (!text.empty()) text += "; ";
    text += *part;
  }
  if (row.outcome == Outcome::kUnmatched && text.empty()) text = "no counterpart";
  return text;
}

ReportRow report_row(const TensorRow& row) {
  ReportRow out;
  out.part = fmt::format("{}.{}", name(row.side), row.index);
  out.status = comparison::verdict_of(row.outcome);
  out.device_dtype = row.dtype;
  out.bench_dtype = row.bench_dtype;
  if (row.shape) out.shape = documented::shape_text(*row.shape);
  if (row.bench) out.algorithm = fmt::format("{}: {}", name(row.rule), row.bench->shown);
  out.message = message_of(row);
  out.numbers = numbers_of(row);
  if (row.real) out.limits = kRealLimits;
  if (row.statistics) out.limits = kStatisticLimits;
  return out;
}

}  // namespace

GraphReport::GraphReport(const GraphCompareOptions& options) {
  run_.kind = "torchair";
  run_.title = "graph-mode comparison";
  run_.directions = {name(DumpSide::kInput), name(DumpSide::kOutput)};
  run_.group_title = "rank, graph, token";
  run_.origin = {{"compared dump", options.plan.device_root.string()},
                 {"reference dump", options.plan.bench_root.string()}};
  run_.metrics.assign(std::begin(kMetrics), std::end(kMetrics));
  run_.limits.push_back({{kMetrics[0].title, "<=", kMostCosineDistance, "else error", "document"},
                         {kMetrics[1].title, "<", kMaxRelativeError, "else error", "document"}});
  report::Limits& statistics = run_.limits.emplace_back();
  const bool built_in = options.limits.statistics == VerdictLimits{}.statistics;
  for (std::size_t i = kRealNumbers; i < std::size(kMetrics); ++i) {
    statistics.push_back({kMetrics[i].title, "<=", options.limits.statistics, "else error",
                          built_in ? "document" : "--stat-limit"});
  }
}

void GraphReport::add(const OpRows& op, std::uint32_t number) {
  if (number == 0) calls_of_unit_.clear();
  calls_of_unit_.resize(number + 1, kNoReportCall);
  if (op.rows.empty()) return;
  const auto index = static_cast<std::uint32_t>(run_.calls.size());
  calls_of_unit_.back() = index;
  const TensorRow& first = op.rows.front();
  ReportCall& call = run_.calls.emplace_back();
  call.name = first.op;
  call.api = first.type.empty() ? "unknown type" : first.type;
  call.group = place_of(first);
  call.first_row = run_.rows.size();
  call.row_count = op.rows.size();
  if (!first.stack.empty()) {
    call.stack = static_cast<std::uint32_t>(run_.stacks.size());
    run_.stacks.push_back({{.file = {}, .line = 0, .function = {}, .code = first.stack}});
  }
  for (const TensorRow& row : op.rows) add_row(row, call);
  bool source_differs = false;
  for (const std::uint32_t source : op.sources) {
    const std::uint32_t from = calls_of_unit_[source];
    if (from == kNoReportCall) continue;
    run_.edges.push_back({from, index});
    source_differs = source_differs || carries_[from];
  }
  set_spread(call, source_differs);
}

void GraphReport::add_row(const TensorRow& row, ReportCall& call) {
  const Verdict verdict = comparison::verdict_of(row.outcome);
  std::optional<Verdict>& folded = row.side == DumpSide::kInput ? call.forward : call.backward;
  folded = folded ? worse(*folded, verdict) : verdict;
  if (row.differs && !run_.first_difference) {
    run_.first_difference = report::FirstDifference{
        .call = run_.calls.size() - 1,
        .text = fmt::format("{} {} {} ({})", row.op, name(row.side), row.index, place_of(row))};
  }
  run_.rows.push_back(report_row(row));
}

// Inputs decide where they were compared; else what comes out of the operators before.
void GraphReport::set_spread(ReportCall& call, bool source_differs) {
  const auto is = [](std::optional<Verdict> side, Verdict verdict) { return side == verdict; };
  const bool inputs_differ =
      is(call.forward, Verdict::kError) || (!is(call.forward, Verdict::kPass) && source_differs);
  if (is(call.backward, Verdict::kError)) {
    call.spread = inputs_differ ? report::Spread::kInherits : report::Spread::kIntroduces;
  } else if (is(call.backward, Verdict::kPass)) {
    call.spread = report::Spread::kAgrees;
  }
  // An operator whose results were not compared passes on what it got.
  const bool unknown = call.spread == report::Spread::kUnknown;
  carries_.push_back(is(call.backward, Verdict::kError) || (unknown && inputs_differ));
}

}  // namespace msprobe::torchair
