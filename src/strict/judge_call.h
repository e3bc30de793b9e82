// The strict status of every output and gradient of a call.
#pragma once

#include <vector>

#include "core/strict.h"
#include "execute/execute_call.h"

namespace msprobe::strict {

struct Findings {
  std::vector<StrictFinding> forward;   // as CallOutcome::forward
  std::vector<StrictFinding> backward;  // as CallOutcome::backward
};

struct Options {
  bool allow_tf32 = false;  // products may round float32 inputs to TF32
};

// REQUIRES: `outcome` is what execute_call(record, options) gave.
Findings judge_call(const dump::CallRecord& record, const execute::ExecuteOptions& options,
                    const execute::CallOutcome& outcome, const Options& allowed = {});

}  // namespace msprobe::strict
