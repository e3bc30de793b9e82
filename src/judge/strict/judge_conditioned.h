// SPDX-License-Identifier: Apache-2.0
// Steps 5 and 6 of docs/verdicts.md: how far roundings of the inputs move a result, and what the
// CPU errs in its dtype.
#pragma once

#include <optional>

#include "strict/call_context.h"

namespace msprobe::strict {

// The spread is looked at after this many runs. With more of them, fewer elements have a small one
// by chance.
inline constexpr int kRuns[] = {1, 3, 12};

// One result. Each further look takes more runs; `tried` is what was compared last.
class ConditionedJudge {
 public:
  // REQUIRES: all outlive this; `tried` holds what an earlier step compared.
  ConditionedJudge(CallContext& context, const Pair& pair, const FloatType& type, Tried& tried);

  // A pass, or nothing.
  std::optional<StrictFinding> judge(int runs);

 private:
  bool holds(Limits limits);
  // The same, also with the spreads that elements of the same size usually have.
  bool holds_with_usual_spreads(const Limits& limits);
  std::optional<StrictFinding> judge_rounded_once();
  std::optional<StrictFinding> judge_rounded_steps();
  bool no_outlier(const Limits& limits);
  std::optional<StrictFinding> judge_with_native(Limits limits);
  void add_specials(Limits& limits);

  CallContext& context_;
  const Pair& pair_;
  const FloatType& type_;
  Tried& tried_;
  const double length_;
  const bool rounds_once_;
  bool hopeless_ = false;  // no further run makes a NaN right
  int runs_ = 0;
  at::Tensor spread_;
};

// What ConditionedJudge would find of a float32 result whose spreads are known without a run, if it
// passes: in one pass, with the spreads of some elements at a time. Nothing for other results.
std::optional<StrictFinding> judge_derived(CallContext& context, const Pair& pair,
                                           const FloatType& type);

// Both sides of a random call have the same seed: a device that draws as the CPU does has the same
// numbers, and its result is judged like any other. Nothing if too many elements differ for that.
// REQUIRES: one run was measured.
std::optional<StrictFinding> judge_same_draw(CallContext& context, const Pair& pair,
                                             const FloatType& type);

}  // namespace msprobe::strict
