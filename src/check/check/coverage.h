// SPDX-License-Identifier: Apache-2.0
// Counts the outcomes of a dump's calls: makes the line every run ends with, and the exit status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/fail_on.h"
#include "documented/detail_row.h"

namespace msprobe::check {

struct Coverage {
  std::size_t recorded = 0;
  std::size_t passed = 0;
  std::size_t warned = 0;
  std::size_t failed = 0;
  std::size_t repeats = 0;                               // left out by -f
  std::size_t not_selected = 0;                          // left out by --only
  std::size_t other_shards = 0;                          // left to them by --shard
  std::map<std::string_view, std::size_t> skipped = {};  // by reason
  // By the worst strict status of each call; all 0 where it was not asked for.
  std::size_t strict_passed = 0;
  std::size_t strict_inconclusive = 0;  // a pass that proves little
  std::size_t strict_only = 0;          // of the strict ones: calls without a documented verdict
  std::size_t strict_warned = 0;
  std::size_t strict_failed = 0;
  std::size_t unjudged_failed = 0;  // documented verdict error, and no strict status was asked for
  std::size_t lost = 0;  // of all rows: the call, or its backward pass, should have been checked
  std::size_t raised =
      0;  // calls that do not run on the device, or only forward; in no other count

  std::size_t checked() const { return passed + warned + failed; }
  std::size_t skipped_calls() const;
  bool has_strict() const {
    return strict_passed + strict_inconclusive + strict_warned + strict_failed > 0;
  }
  void add(const documented::ResultRow& row);
};

std::string coverage_line(const Coverage& coverage);

enum class CheckStatus : std::uint8_t { kPassed = 0, kFailed = 1, kNothingChecked = 2 };
CheckStatus status_of(const Coverage& coverage, FailOn fail_on);

}  // namespace msprobe::check
