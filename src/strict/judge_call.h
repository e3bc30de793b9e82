// SPDX-License-Identifier: Apache-2.0
// The strict status of every output and gradient of a call.
#pragma once

#include <functional>
#include <vector>

#include "core/strict.h"
#include "execute/execute_call.h"
#include "probe/device_sums.h"

namespace msprobe::strict {

struct Findings {
  std::vector<StrictFinding> forward;   // as CallOutcome::forward
  std::vector<StrictFinding> backward;  // as CallOutcome::backward
};

struct StrictOptions {
  bool allow_tf32 = false;  // products may round float32 inputs to TF32
  // How the device adds the terms of products; empty: not known, as of recorded results.
  std::function<probe::DeviceSums()> device_sums = {};
};

// REQUIRES: `outcome` is what execute_call(record, options) gave.
Findings judge_call(const dump::CallRecord& record, const execute::ExecuteOptions& options,
                    const execute::CallOutcome& outcome, const StrictOptions& allowed = {});

}  // namespace msprobe::strict
