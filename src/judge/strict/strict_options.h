// SPDX-License-Identifier: Apache-2.0
// What the strict status needs to know besides the call.
#pragma once

#include <optional>

#include "core/strict.h"
#include "probe/device_sums.h"
#include "strict/card_arithmetic.h"
#include "strict/failure.h"

namespace msprobe::strict {

struct CallContext;
struct Pair;

// Judges results of a kind of its own. Nothing: another kind.
using Judge = std::optional<StrictFinding> (*)(CallContext& context, const Pair& pair);

struct StrictOptions {
  // How the device adds the terms of products; empty: not known, as of recorded results.
  probe::AskSums device_sums = {};
  // The outcome is that of the CPU in the recorded precision, which then need not run again.
  bool device_is_cpu = false;
  // How the device multiplies, of its card; empty: there is no card.
  CardArithmetic card = {};
  // Names what an error looks like; empty: causes are left empty.
  NameCause name_cause = {};
  // Codes of 8 and 4 bits and products with scales (src/judge/codes); null: none are expected.
  Judge judge_codes = nullptr;

  std::string cause_of(const Failure& failure, execute::Rerun* rerun = nullptr) const {
    return name_cause ? name_cause(failure, rerun) : "";
  }
};

}  // namespace msprobe::strict
