// SPDX-License-Identifier: Apache-2.0
// Results that are one matrix product, beside what the arithmetic on the device's card gives.
#pragma once

#include <optional>

#include "strict/call_context.h"
#include "strict/finding.h"

namespace msprobe::strict {

// What the card makes of a result.
struct CardFinding {
  StrictFinding finding;
  bool certain = false;  // else it says how the result differs, and the bound has to decide
};

// A pass: every element is what the card's arithmetic gives, bit for bit. Nothing where there is no
// card, the result is not one product, is the rounded benchmark, or would take too long.
std::optional<CardFinding> judge_by_card(CallContext& context, const Pair& pair,
                                         const FloatType& type);

}  // namespace msprobe::strict
