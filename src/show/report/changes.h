// SPDX-License-Identifier: Apache-2.0
// Two checks of the same calls, an older and a newer one: what fails now that did not, what was
// fixed, what still fails.
#pragma once

#include <cstddef>
#include <vector>

#include "core/fail_on.h"
#include "report/report_data.h"

namespace msprobe::report {

// What `fail_on` counts as failed; a call that was lost, or does not run, fails by any of them.
bool fails(const ReportCall& call, FailOn fail_on);

struct Changes {
  std::vector<std::size_t> appeared;  // calls of the newer run that fail and did not, or are new
  std::vector<std::size_t> still;     // calls of the newer run that failed before too
  std::vector<std::size_t> fixed;     // calls of the newer run that failed and are right now
  std::vector<std::size_t> fixed_in_older;  // the same calls in the older run
  std::size_t in_both = 0;
  std::size_t only_old = 0;
  std::size_t only_new = 0;
  std::size_t gone = 0;  // of only_old: calls that failed
};

// Calls are matched by name. A failing call that was skipped before has appeared; one that is
// skipped now is not fixed: it is left out.
Changes changes_between(const ReportRun& older, const ReportRun& newer, FailOn fail_on);

}  // namespace msprobe::report
