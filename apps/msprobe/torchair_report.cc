#include "torchair_report.h"

#include <fmt/format.h>

#include "judge/judge.h"
#include "torchair/verdict.h"

namespace msprobe::app {
namespace {

using report::kNoNumber;
using report::ReportCall;
using report::ReportRow;
using torchair::Row;

// Real data, then statistics; a row has numbers of one kind.
constexpr report::Metric kMetrics[] = {
    {"Cosine similarity", ""},
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
constexpr std::uint32_t kRealLimits = 1;
constexpr std::uint32_t kStatisticLimits = 2;

Verdict verdict_of(const Row& row) {
  switch (row.verdict) {
    case torchair::Verdict::kPass:
      return Verdict::kPass;
    case torchair::Verdict::kFail:
      return Verdict::kError;
    case torchair::Verdict::kNone:
      break;
  }
  return Verdict::kSkip;
}

std::vector<double> numbers_of(const Row& row) {
  std::vector<double> numbers(std::size(kMetrics), kNoNumber);
  if (row.real) {
    const measure::Similarity& found = row.real->similarity;
    numbers[0] = found.cosine;
    numbers[1] = found.max_relative_error;
    numbers[2] = found.max_abs_error;
    numbers[3] = found.mean_abs_error;
    numbers[4] = found.euclidean_distance;
  }
  for (std::size_t i = 0; row.statistics && i < torchair::kStatistics; ++i) {
    const std::optional<double> relative = torchair::relative_difference((*row.statistics)[i]);
    if (relative) numbers[kRealNumbers + i] = *relative;
  }
  return numbers;
}

std::string place_of(const Row& row) {
  return fmt::format("rank {}, graph {}, token {}", row.rank, row.graph, row.token);
}

std::string message_of(const Row& row) {
  std::string text;
  for (const std::string* part : {&row.reason, &row.problem, &row.message}) {
    if (part->empty() || text.find(*part) != std::string::npos) continue;
    if (!text.empty()) text += "; ";
    text += *part;
  }
  if (row.status == torchair::Status::kUnmatched && text.empty()) text = "no counterpart";
  return text;
}

ReportRow report_row(const Row& row) {
  ReportRow out;
  out.part = fmt::format("{}.{}", torchair::name(row.side), row.index);
  out.status = verdict_of(row);
  out.device_dtype = row.dtype;
  out.bench_dtype = row.bench_dtype;
  if (row.shape) out.shape = judge::shape_text(*row.shape);
  if (row.bench) out.algorithm = fmt::format("{}: {}", torchair::name(row.rule), row.bench->shown);
  out.message = message_of(row);
  out.numbers = numbers_of(row);
  if (row.real) out.limits = kRealLimits;
  if (row.statistics) out.limits = kStatisticLimits;
  return out;
}

}  // namespace

TorchairReport::TorchairReport(const torchair::CompareOptions& options) {
  run_.kind = "torchair";
  run_.title = "graph-mode comparison";
  run_.directions = {torchair::name(torchair::Side::kInput),
                     torchair::name(torchair::Side::kOutput)};
  run_.group_title = "rank, graph, token";
  run_.origin = {{"compared dump", options.plan.device_root.string()},
                 {"reference dump", options.plan.bench_root.string()}};
  run_.metrics.assign(std::begin(kMetrics), std::end(kMetrics));
  run_.limits.push_back(
      {{kMetrics[0].title, ">=", torchair::kMinCosine, "else error", "document"},
       {kMetrics[1].title, "<", torchair::kMaxRelativeError, "else error", "document"}});
  report::Limits& statistics = run_.limits.emplace_back();
  const bool built_in = options.limits.statistics == torchair::VerdictLimits{}.statistics;
  for (std::size_t i = kRealNumbers; i < std::size(kMetrics); ++i) {
    statistics.push_back({kMetrics[i].title, "<=", options.limits.statistics, "else error",
                          built_in ? "document" : "--stat-limit"});
  }
}

ReportCall& TorchairReport::call_of(const Row& row) {
  const std::string place = place_of(row);
  if (run_.calls.empty() || run_.calls.back().name != row.op || run_.calls.back().group != place) {
    ReportCall& call = run_.calls.emplace_back();
    call.name = row.op;
    call.api = row.type.empty() ? "unknown type" : row.type;
    call.group = place;
    call.first_row = run_.rows.size();
    if (!row.stack.empty()) {
      call.stack = static_cast<std::uint32_t>(run_.stacks.size());
      run_.stacks.push_back({{.file = {}, .line = 0, .function = {}, .code = row.stack}});
    }
  }
  return run_.calls.back();
}

void TorchairReport::add(const Row& row) {
  ReportCall& call = call_of(row);
  const Verdict verdict = verdict_of(row);
  std::optional<Verdict>& folded =
      row.side == torchair::Side::kInput ? call.forward : call.backward;
  folded = folded ? worse(*folded, verdict) : verdict;
  if (row.differs && !run_.first_difference) {
    run_.first_difference = report::FirstDifference{
        .call = run_.calls.size() - 1,
        .text = fmt::format("{} {} {} ({})", row.op, torchair::name(row.side), row.index,
                            place_of(row))};
  }
  ++call.row_count;
  run_.rows.push_back(report_row(row));
}

}  // namespace msprobe::app
