#include "compare_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "text_table.h"
#include "torchair/verdict.h"

namespace msprobe::app {
namespace {

using torchair::Mode;
using torchair::Row;

constexpr std::size_t kShownRows = 10;

// Larger is worse; what is no number is worst.
double badness(const Row& row) {
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
  for (const torchair::StatisticPair& pair : *row.statistics) {
    if (const auto relative = torchair::relative_difference(pair)) {
      worst = std::max(worst, worst_of(*relative));
    }
  }
  return worst;
}

std::string place(const Row& row) {
  return fmt::format("{}.{}.{}", row.op, torchair::name(row.side), row.index);
}

std::vector<std::string> titles_of(Mode mode) {
  std::vector<std::string> titles{"Operator", "rank", "graph", "token"};
  if (mode == Mode::kReal) titles.insert(titles.end(), {"Cosine", "MaxAbsErr", "MaxRelativeErr"});
  if (mode == Mode::kStatistics) titles.insert(titles.end(), {"MaxRelativeErr", "MinRelativeErr"});
  if (mode == Mode::kMd5) titles.insert(titles.end(), {"NPU MD5", "BENCH MD5"});
  titles.emplace_back("Result");
  return titles;
}

std::string number(double value) { return fmt::format("{:.6g}", value); }

std::vector<std::string> cells_of(const Row& row, Mode mode) {
  std::vector<std::string> cells{place(row), fmt::format("{}", row.rank),
                                 fmt::format("{}", row.graph), fmt::format("{}", row.token)};
  const auto relative = [&](torchair::Statistic which) {
    const auto found =
        row.statistics
            ? torchair::relative_difference((*row.statistics)[static_cast<std::size_t>(which)])
            : std::nullopt;
    return found ? number(*found) : std::string("N/A");
  };
  if (mode == Mode::kReal && row.real) {
    const measure::Similarity& found = row.real->similarity;
    cells.insert(cells.end(), {number(found.cosine), number(found.max_abs_error),
                               number(found.max_relative_error)});
  } else if (mode == Mode::kReal) {
    cells.insert(cells.end(), {"N/A", "N/A", "N/A"});
  } else if (mode == Mode::kStatistics) {
    cells.insert(cells.end(),
                 {relative(torchair::Statistic::kMax), relative(torchair::Statistic::kMin)});
  } else {
    cells.insert(cells.end(),
                 {row.md5 ? row.md5->device_crc : "N/A", row.md5 ? row.md5->bench_crc : "N/A"});
  }
  cells.emplace_back(torchair::name(row.verdict));
  return cells;
}

std::string painted(std::string_view text, int code, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

}  // namespace

void CompareSummary::add(const Row& row) {
  if (row.differs && !first_) first_ = row;
  if (row.verdict != torchair::Verdict::kFail) return;
  const auto behind =
      std::ranges::upper_bound(worst_, badness(row), std::ranges::greater(), badness);
  if (behind == worst_.end() && worst_.size() == kShownRows) return;
  worst_.insert(behind, row);
  if (worst_.size() > kShownRows) worst_.pop_back();
}

std::string CompareSummary::text(const torchair::CompareTotals& totals, Mode mode,
                                 bool colour) const {
  constexpr int kRed = 31;
  constexpr int kGreen = 32;
  constexpr int kYellow = 33;
  std::string out;
  if (!worst_.empty()) {
    TextTable table{titles_of(mode), {}};
    for (const Row& row : worst_) table.rows.push_back(cells_of(row, mode));
    out += fmt::format("worst {} of {} failing tensors\n{}\n", worst_.size(), totals.failed,
                       render(table, false));
  }
  if (first_) {
    // Statistics may differ by more than 1 % and still pass.
    const bool within = first_->verdict == torchair::Verdict::kPass;
    out +=
        fmt::format("first difference{}  {}\n", within ? " (within the limit)" : "",
                    painted(fmt::format("{} (rank {}, graph {}, token {}, {})", place(*first_),
                                        first_->rank, first_->graph, first_->token, first_->file),
                            within ? kYellow : kRed, colour));
  } else {
    out += "first difference  none\n";
  }
  const std::uint64_t judged = totals.passed + totals.failed;
  const std::uint64_t undecided = totals.paired - judged;  // empty, or nothing both sides have
  out += fmt::format(
      "{} tensors: {}, {}, {}{}\n", totals.rows,
      painted(fmt::format("{} pass", totals.passed), kGreen, colour),
      painted(fmt::format("{} fail", totals.failed), totals.failed > 0 ? kRed : kGreen, colour),
      painted(
          fmt::format("{} without counterpart, {} unreadable", totals.unmatched, totals.unreadable),
          kYellow, colour && totals.unmatched + totals.unreadable > 0),
      undecided > 0 ? fmt::format(", {} with nothing to compare", undecided) : "");
  return out;
}

}  // namespace msprobe::app
