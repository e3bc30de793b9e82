// SPDX-License-Identifier: Apache-2.0
// Results that are judged by the conditioning of their call: by what roundings of the inputs do.
#pragma once

#include <optional>

#include "strict/call_context.h"

namespace msprobe::strict {

// Runs after which the spread is looked at; the more, the less can a move be small by chance.
inline constexpr int kRuns[] = {1, 3, 12};

// The bound with what the inputs' rounding does; then with what the CPU does in this dtype, which
// costs one run; then with more runs, `most` at most. A pass, or nothing. Leaves in `tried` what
// was compared last.
std::optional<StrictFinding> judge_conditioned(CallContext& context, const Pair& pair,
                                               const FloatType& type, Tried& tried,
                                               int most = kRuns[2]);

// What judge_conditioned() would find of a float32 result whose spreads are known without a run, if
// it passes: in one pass, with the spreads of some elements at a time. Nothing elsewhere.
std::optional<StrictFinding> judge_derived(CallContext& context, const Pair& pair,
                                           const FloatType& type);

// Both sides of a random call have the same seed: a device that draws as the CPU does has the same
// numbers, and its result is judged as any other. Nothing where too many elements differ for that.
// REQUIRES: one run was measured.
std::optional<StrictFinding> judge_same_draw(CallContext& context, const Pair& pair,
                                             const FloatType& type);

}  // namespace msprobe::strict
