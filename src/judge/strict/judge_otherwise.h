// SPDX-License-Identifier: Apache-2.0
// Results with more than one right answer: random numbers, and factors, indices or sets that are
// not unique. They are judged so where a plain comparison fails.
#pragma once

#include <optional>

#include "strict/call_context.h"

namespace msprobe::strict {

// Nothing if the benchmark's result is the only right one.
std::optional<StrictFinding> judge_otherwise(CallContext& context, const Pair& pair);

}  // namespace msprobe::strict
