// SPDX-License-Identifier: Apache-2.0
// Judges of their own: for results that are not compared with a bound of their benchmark.
#pragma once

#include <optional>

#include "strict/call_context.h"

namespace msprobe::strict {

// Asks the rows of the table in judges.cc in order: the first finding decides. Nothing for results
// that the bound judges (steps.h). REQUIRES: shape and dtype are right.
std::optional<StrictFinding> judge_alone(CallContext& context, const Pair& pair);

}  // namespace msprobe::strict
