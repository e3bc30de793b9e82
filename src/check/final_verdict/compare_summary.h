// SPDX-License-Identifier: Apache-2.0
// The summary that api_precision_compare prints when it ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fail_on.h"
#include "documented/detail_row.h"
#include "final_verdict/api_precision_compare.h"

namespace msprobe::final_verdict {

// Counts the calls as they are judged, and keeps the first of those to look at.
class CompareSummary {
 public:
  explicit CompareSummary(FailOn fail_on) : fail_on_(fail_on) {}

  void add(const documented::ResultRow& row);

  // The calls to look at, first those that are wrong, then others that fail; the counts, and where
  // the files are.
  std::string text(const PrecisionOutcome& outcome, bool colour) const;
  std::string json(const PrecisionOutcome& outcome) const;

  // "Torch.mm.0: why", empty if none is skipped.
  const std::string& first_skip() const { return first_skip_; }

 private:
  std::string worst_calls(bool with_strict, bool colour) const;

  FailOn fail_on_;
  std::vector<documented::ResultRow> wrong_;   // by the strict verdict
  std::vector<documented::ResultRow> failed_;  // others that --fail-on counts
  std::uint64_t failing_ = 0;                  // as --fail-on counts
  std::uint64_t to_look_at_ = 0;
  std::string first_skip_;
};

}  // namespace msprobe::final_verdict
