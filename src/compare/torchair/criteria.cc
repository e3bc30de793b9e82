// SPDX-License-Identifier: Apache-2.0
#include "torchair/criteria.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace msprobe::torchair {
namespace {

void add_message(TensorRow& row, std::string_view text) {
  if (text.empty()) return;
  if (!row.message.empty()) row.message += "; ";
  row.message += text;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  return fmt::format("{}", value);
}

void judge_real(TensorRow& row) {
  const measure::Similarity& found = row.real->similarity;
  const measure::SimilarityTally& tally = row.real->tally;
  const bool passes = tally.mismatches == 0 && found.cosine >= kMinCosine &&
                      found.max_relative_error < kMaxRelativeError;
  row.outcome = passes ? Outcome::kPass : Outcome::kError;
  // The rule of the general comparison under the same title.
  const bool poor = (found.cosine < 0.99 && found.max_abs_error > 0.001) || found.cosine < 0.9 ||
                    found.max_abs_error > 1 || std::isnan(found.cosine);
  row.reached = passes && !poor;
  if (tally.mismatches > 0) {
    add_message(
        row, fmt::format("{} elements are NaN or infinite on one side only, the first at {}: "
                         "{} against {}",
                         tally.mismatches, tally.first_mismatch, number_text(tally.mismatch_device),
                         number_text(tally.mismatch_bench)));
  }
  if (row.real->max_abs_at && found.max_relative_error >= kMaxRelativeError) {
    add_message(row, fmt::format("largest error {} at element {}", found.max_abs_error,
                                 *row.real->max_abs_at));
  }
}

bool same_class(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

void judge_statistics(TensorRow& row, double limit) {
  constexpr std::array<std::string_view, kStatistics> kNames = {"Max", "Min", "Mean", "L2norm"};
  bool any = false;
  bool fails = false;
  for (std::size_t i = 0; i < kStatistics; ++i) {
    const StatisticPair& pair = (*row.statistics)[i];
    const std::optional<double> relative = relative_difference(pair);
    if (!relative) continue;
    any = true;
    if (pair.shared_nan) continue;
    const bool other_class = !same_class(*pair.device, *pair.bench);
    const bool beyond = other_class || *relative > limit;
    fails = fails || beyond;
    const bool counts = i != static_cast<std::size_t>(TensorStatistic::kMean);
    row.differs = row.differs || (counts && (other_class || *relative > kStatisticDifference));
    if (beyond) {
      add_message(row, fmt::format("{} {} against {}", kNames[i], number_text(*pair.device),
                                   number_text(*pair.bench)));
    }
  }
  const StatisticPair& nans = row.nan_counts;
  if (nans.device && nans.bench && *nans.device != *nans.bench) {
    any = true;
    fails = true;
    add_message(row, fmt::format("{} NaN elements against {}", *nans.device, *nans.bench));
  }
  if (!any) {
    add_message(row, "no statistic that both sides have");
    return;
  }
  row.outcome = fails ? Outcome::kError : Outcome::kPass;
  row.reached = !fails;
}

void judge_md5(TensorRow& row) {
  const bool equal = row.md5->device_crc == row.md5->bench_crc;
  row.outcome = equal ? Outcome::kPass : Outcome::kError;
  row.reached = equal;
  row.differs = !equal && row.md5->same_type;
  if (!equal && row.md5->equal_values) {
    add_message(row, row.md5->same_type ? "equal values, other bits (signs of zeros, NaN)"
                                        : fmt::format("equal values, other types: {} against {}",
                                                      row.dtype, row.bench_dtype));
  }
}

}  // namespace

std::optional<double> difference(const StatisticPair& pair) {
  if (!pair.device || !pair.bench) return std::nullopt;
  if (*pair.device == *pair.bench) return 0;
  return *pair.device - *pair.bench;
}

std::optional<double> relative_difference(const StatisticPair& pair) {
  const std::optional<double> diff = difference(pair);
  if (!diff || *diff == 0) return diff;
  if (std::isnan(*diff)) {
    return std::isnan(*pair.device) && std::isnan(*pair.bench) ? 0 : *diff;
  }
  return std::isinf(*pair.bench) ? INFINITY : std::abs(*diff / *pair.bench);
}

void judge(TensorRow& row, GraphMode mode, const VerdictLimits& limits) {
  if (!is_paired(row.outcome)) {
    add_message(row, row.reason);
    return;
  }
  if (!row.problem.empty()) {
    const bool fails = row.problem == "shapes differ";
    row.outcome = fails ? Outcome::kError : Outcome::kUndecided;
    row.differs = fails;
    if (row.message.empty()) add_message(row, row.problem);
    return;
  }
  if (row.real) {
    judge_real(row);
    row.differs = row.outcome == Outcome::kError;
  } else if (mode == GraphMode::kStatistics) {
    judge_statistics(row, limits.statistics);
  } else if (row.md5) {
    judge_md5(row);
  }
  if (!row.bench_dtype.empty() && row.bench_dtype != row.dtype && !row.dtype.empty() && !row.md5) {
    add_message(row, fmt::format("Dtype of NPU and bench tensor do not match: {} and {}", row.dtype,
                                 row.bench_dtype));
  }
}

RowMark mark_of(const TensorRow& row) {
  if (row.outcome == Outcome::kSkipped) return RowMark::kSuspicious;
  if (row.outcome == Outcome::kError) return RowMark::kAbnormal;
  if (row.outcome != Outcome::kPass) return RowMark::kNone;
  return row.reached ? RowMark::kNormal : RowMark::kSuspicious;
}

}  // namespace msprobe::torchair
