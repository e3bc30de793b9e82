// SPDX-License-Identifier: Apache-2.0
// The strict status of every output and gradient of a call.
#pragma once

#include <vector>

#include "core/strict.h"
#include "execute/execute_call.h"
#include "strict/strict_options.h"

namespace msprobe::strict {

struct Findings {
  std::vector<StrictFinding> forward;   // as CallOutcome::forward
  std::vector<StrictFinding> backward;  // as CallOutcome::backward
  int runs = 0;                         // of the call, beyond the one whose outcome is judged
};

// REQUIRES: `outcome` is what execute_call(record, options) gave.
Findings judge_call(const dump::CallRecord& record, const execute::ExecuteOptions& options,
                    const execute::CallOutcome& outcome, const StrictOptions& allowed = {});

}  // namespace msprobe::strict
