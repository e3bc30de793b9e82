// SPDX-License-Identifier: Apache-2.0
#include "check/coverage.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/skip.h"

namespace msprobe::check {
namespace {

// The label of calls that were run, but no output had anything in it.
constexpr std::string_view kNothingToCompare = "nothing_to_compare";

bool has(const documented::ResultRow& row, Verdict verdict) {
  return row.forward == verdict || row.backward == verdict;
}

}  // namespace

std::size_t Coverage::skipped_calls() const {
  std::size_t count = 0;
  for (const auto& [label, calls] : skipped) count += calls;
  return count;
}

// The worse direction decides; a call is skipped only when neither has a verdict.
void Coverage::add(const documented::ResultRow& row) {
  if (has(row, Verdict::kSkip) && is_lost(row.skip)) ++lost;
  if (has(row, Verdict::kSkip) && is_raised(row.skip)) {
    ++raised;
    return;
  }
  if (row.strict == Verdict::kError) ++strict_failed;
  if (row.strict == Verdict::kWarning) ++strict_warned;
  if (row.strict == Verdict::kInconclusive) ++strict_inconclusive;
  if (row.strict == Verdict::kPass) ++strict_passed;
  if (has(row, Verdict::kError)) {
    ++failed;
    if (!row.strict) ++unjudged_failed;
  } else if (has(row, Verdict::kWarning)) {
    ++warned;
  } else if (has(row, Verdict::kPass)) {
    ++passed;
  } else {
    ++skipped[row.skip == SkipReason::kNone ? kNothingToCompare : name(row.skip)];
    const bool judged = row.strict && *row.strict != Verdict::kSkip;
    if (judged) ++strict_only;
  }
}

std::string coverage_line(const Coverage& coverage) {
  std::string line =
      fmt::format("recorded {}, checked {} (passed {}, warned {}, failed {})", coverage.recorded,
                  coverage.checked(), coverage.passed, coverage.warned, coverage.failed);
  if (coverage.raised > 0) line += fmt::format(", raised {}", coverage.raised);
  line += fmt::format(", skipped {}", coverage.skipped_calls());
  const char* separator = ": ";
  for (const auto& [label, calls] : coverage.skipped) {
    line += fmt::format("{}{} {}", separator, label, calls);
    separator = ", ";
  }
  if (coverage.repeats > 0) line += fmt::format("; repeats left out by -f {}", coverage.repeats);
  if (coverage.not_selected > 0) {
    line += fmt::format("; not selected by --only {}", coverage.not_selected);
  }
  if (coverage.other_shards > 0) {
    line += fmt::format("; left to other shards {}", coverage.other_shards);
  }
  if (coverage.has_strict()) {
    line += fmt::format("; strict: passed {}", coverage.strict_passed);
    if (coverage.strict_inconclusive > 0) {
      line += fmt::format(", inconclusive {}", coverage.strict_inconclusive);
    }
    line += fmt::format(", warned {}, failed {}", coverage.strict_warned, coverage.strict_failed);
  }
  if (coverage.strict_only > 0) {
    line += fmt::format(" ({} of them skipped by the documented rules)", coverage.strict_only);
  }
  return line;
}

CheckStatus status_of(const Coverage& coverage, FailOn fail_on) {
  std::size_t failed = coverage.raised + coverage.lost;
  if (by_documents(fail_on)) {
    failed += coverage.failed + (fail_on == FailOn::kWarning ? coverage.warned : 0);
  } else {
    failed += coverage.strict_warned + coverage.strict_failed + coverage.unjudged_failed;
    if (fail_on == FailOn::kInconclusive) failed += coverage.strict_inconclusive;
  }
  if (failed > 0) return CheckStatus::kFailed;
  // The strict status judges some calls that the documents skip.
  const std::size_t judged = coverage.checked() + coverage.strict_only;
  return judged == 0 ? CheckStatus::kNothingChecked : CheckStatus::kPassed;
}

}  // namespace msprobe::check
