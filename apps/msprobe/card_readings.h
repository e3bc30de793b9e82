// SPDX-License-Identifier: Apache-2.0
// Findings of a check about operators whose documents leave a question open, for the card.
#pragma once

#include <string>

#include "card/card.h"
#include "core/result.h"

namespace msprobe::app {

// Adds to `card` how the device answers such questions, as far as the details of a check say it:
// "(the device divides by the scale)". Operators for which calls disagree get a line without a
// value.
Result<void> learn_readings(const std::string& details_csv, card::Card& card);

}  // namespace msprobe::app
