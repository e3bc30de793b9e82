// SPDX-License-Identifier: Apache-2.0
// Whole numbers and bools must be equal, unless a rounding of the inputs changes the benchmark too.
#pragma once

#include <optional>

#include "strict/call_context.h"

namespace msprobe::strict {

// Nothing for results of a floating dtype.
std::optional<StrictFinding> judge_integers(CallContext& context, const Pair& pair);

}  // namespace msprobe::strict
