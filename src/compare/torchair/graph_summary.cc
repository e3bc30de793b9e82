// SPDX-License-Identifier: Apache-2.0
#include "torchair/graph_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/visible_text.h"
#include "tables/text_table.h"
#include "torchair/criteria.h"

namespace msprobe::torchair {
namespace {

constexpr std::size_t kShownRows = 10;

// Larger is worse; NaN is worst.
double badness(const TensorRow& row) {
  const auto worst_of = [](double value) {
    return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  if (!row.problem.empty()) return std::numeric_limits<double>::infinity();
  if (row.real) {
    if (row.real->tally.mismatches > 0) return std::numeric_limits<double>::infinity();
    // The direction first, then the size of the error.
    const double away = worst_of(1 - row.real->similarity.cosine);
    return away * 1e6 + std::min(worst_of(row.real->similarity.max_relative_error), 1e5);
  }
  if (!row.statistics) return 1;
  double worst = 0;
  for (const StatisticPair& pair : *row.statistics) {
    if (const auto relative = relative_difference(pair)) {
      worst = std::max(worst, worst_of(*relative));
    }
  }
  return worst;
}

std::string place(const TensorRow& row) {
  return fmt::format("{}.{}.{}", row.op, name(row.side), row.index);
}

std::string shown(double value) { return fmt::format("{:.6g}", value); }

using Similar = double measure::Similarity::*;
template <Similar kMember>
std::string similarity(const TensorRow& row) {
  return row.real ? shown(row.real->similarity.*kMember) : "N/A";
}

template <TensorStatistic kStatistic>
std::string relative_of(const TensorRow& row) {
  if (!row.statistics) return "N/A";
  const auto found = relative_difference((*row.statistics)[static_cast<std::size_t>(kStatistic)]);
  return found ? shown(*found) : "N/A";
}

struct SummaryColumn {
  std::string_view title;
  std::optional<GraphMode> mode;  // the only one that has it
  std::string (*cell)(const TensorRow& row);
};
constexpr SummaryColumn kSummaryColumns[] = {
    {"Operator", {}, &place},
    {"rank", {}, [](const TensorRow& row) { return fmt::format("{}", row.rank); }},
    {"graph", {}, [](const TensorRow& row) { return fmt::format("{}", row.graph); }},
    {"token", {}, [](const TensorRow& row) { return fmt::format("{}", row.token); }},
    {"1 - Cosine", GraphMode::kReal, &similarity<&measure::Similarity::cosine_distance>},
    {"MaxAbsErr", GraphMode::kReal, &similarity<&measure::Similarity::max_abs_error>},
    {"MaxRelativeErr", GraphMode::kReal, &similarity<&measure::Similarity::max_relative_error>},
    {"MaxRelativeErr", GraphMode::kStatistics, &relative_of<TensorStatistic::kMax>},
    {"MinRelativeErr", GraphMode::kStatistics, &relative_of<TensorStatistic::kMin>},
    {"NPU MD5", GraphMode::kMd5,
     [](const TensorRow& row) { return row.md5 ? row.md5->device_crc : "N/A"; }},
    {"BENCH MD5", GraphMode::kMd5,
     [](const TensorRow& row) { return row.md5 ? row.md5->bench_crc : "N/A"; }},
    {"Result", {}, [](const TensorRow& row) { return std::string(verdict_text(row.outcome)); }},
};

tables::TextTable table_of(const std::vector<TensorRow>& rows, GraphMode mode) {
  tables::TextTable table{{}, std::vector<std::vector<std::string>>(rows.size())};
  for (const SummaryColumn& column : kSummaryColumns) {
    if (column.mode && *column.mode != mode) continue;
    table.titles.emplace_back(column.title);
    for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].push_back(column.cell(rows[i]));
  }
  return table;
}

std::string painted(std::string_view text, int code, bool colour) {
  const std::string shown = visible_line(text);
  return colour ? fmt::format("\033[{}m{}\033[0m", code, shown) : shown;
}

}  // namespace

void GraphSummary::add(const TensorRow& row) {
  if (row.differs && !first_) first_ = row;
  if (row.outcome != Outcome::kError) return;
  const auto behind =
      std::ranges::upper_bound(worst_, badness(row), std::ranges::greater(), badness);
  if (behind == worst_.end() && worst_.size() == kShownRows) return;
  worst_.insert(behind, row);
  if (worst_.size() > kShownRows) worst_.pop_back();
}

std::string GraphSummary::text(const CompareTotals& totals, GraphMode mode, bool colour) const {
  constexpr int kRed = 31;
  constexpr int kGreen = 32;
  constexpr int kYellow = 33;
  std::string out;
  if (!worst_.empty()) {
    out += fmt::format("worst {} of {} failing tensors\n{}\n", worst_.size(),
                       totals[Outcome::kError], tables::render(table_of(worst_, mode), false));
  }
  if (first_) {
    // Statistics may differ by more than 1 % and still pass.
    const bool within = first_->outcome == Outcome::kPass;
    out +=
        fmt::format("first difference{}  {}\n", within ? " (within the limit)" : "",
                    painted(fmt::format("{} (rank {}, graph {}, token {}, {})", place(*first_),
                                        first_->rank, first_->graph, first_->token, first_->file),
                            within ? kYellow : kRed, colour));
  } else {
    out += "first difference  none\n";
  }
  const std::uint64_t judged = totals[Outcome::kPass] + totals[Outcome::kError];
  const std::uint64_t undecided = totals.paired() - judged;  // empty, or nothing both sides have
  out += fmt::format(
      "{} tensors: {}, {}, {}{}\n", totals.rows,
      painted(fmt::format("{} pass", totals[Outcome::kPass]), kGreen, colour),
      painted(fmt::format("{} fail", totals[Outcome::kError]),
              totals[Outcome::kError] > 0 ? kRed : kGreen, colour),
      painted(fmt::format("{} without counterpart, {} unreadable", totals[Outcome::kUnmatched],
                          totals[Outcome::kSkipped]),
              kYellow, colour && totals[Outcome::kUnmatched] + totals[Outcome::kSkipped] > 0),
      undecided > 0 ? fmt::format(", {} with nothing to compare", undecided) : "");
  return out;
}

}  // namespace msprobe::torchair
