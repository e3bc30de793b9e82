// SPDX-License-Identifier: Apache-2.0
// Products of codes with scales: judged against their exact sum, with a bound that knows how
// devices add them. docs/low_precision.md derives it.
#pragma once

#include <optional>

#include "low_precision/scaled_product.h"
#include "strict/bound.h"
#include "strict/call_context.h"

namespace msprobe::codes {

using strict::CallContext;
using strict::Pair;

// Half the distance from 1 to the next float32.
inline constexpr double kHalfFloatEps = strict::kFloatEps / 2;

// Nothing: another call.
std::optional<StrictFinding> judge_scaled(CallContext& context, const Pair& pair);

// How far the sums of a right device may be off, for every element, before the result is rounded.
// In any order, in float32, rounded or cut; scales before, between or after the sums. Nothing where
// every partial sum is exact.
at::Tensor sum_error(const low_precision::ScaledProduct& product,
                     const low_precision::TermSizes& sizes);

}  // namespace msprobe::codes
