// SPDX-License-Identifier: Apache-2.0
// From the rows of one call to its line in the result CSV.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/verdict.h"
#include "documented/detail_row.h"
#include "documented/profile.h"

namespace msprobe::documented {

// The verdict of one direction; empty when it has no row. Documented: the worst row decides, and a
// direction whose rows are all SKIP is SKIP. Public tool: the last row that is neither pass nor
// SKIP decides, else pass.
std::optional<Verdict> fold(std::span<const Verdict> rows, Profile profile);

// `backward_skipped`: the backward was left out and its one row says why; that is SKIP in both
// profiles.
ResultRow conclude(std::string_view api_name, std::span<const DetailRow> forward,
                   std::span<const DetailRow> backward, Profile profile,
                   bool backward_skipped = false);

// A call that was not compared at all: one SKIP row, and SKIP in both columns of the result.
struct SkippedCall {
  DetailRow detail;
  ResultRow result;
};
SkippedCall skipped_call(std::string_view api_name, const Skip& why);

}  // namespace msprobe::documented
