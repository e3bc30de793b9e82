// SPDX-License-Identifier: Apache-2.0
// Finds for each call of one run its counterpart in the other. Numbers of calls are not used: calls
// that were inserted, removed, renamed, fused or computed again on one side shift them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "divergence/recorded_run.h"

namespace msprobe::divergence {

inline constexpr std::uint32_t kNoCall = std::numeric_limits<std::uint32_t>::max();

// What two calls have in common, strongest first.
enum class Match : std::uint8_t {
  kValues,    // inputs and outputs agree, regardless of the names
  kInputs,    // inputs agree, outputs do not
  kOutputs,   // outputs agree; the inputs are others (a fused call)
  kFlow,      // the inputs come from calls that belong together, though their values differ
  kSequence,  // name and shapes, at the place where the other run has them
  kNone,
};

struct Partner {
  std::uint32_t golden = kNoCall;
  Match match = Match::kNone;
  bool again = false;  // the golden call has another partner already: computed again
};

struct Alignment {
  std::vector<Partner> partners;           // one per target call
  std::vector<std::uint32_t> golden_only;  // golden calls without partner
};

// Near linear: candidates come from sorted fingerprints, never from all pairs. `exact`: checksums
// decide instead of values.
Alignment align(const Trace& target, const Trace& golden, bool exact);

}  // namespace msprobe::divergence
