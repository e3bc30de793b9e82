// SPDX-License-Identifier: Apache-2.0
// A card, and the difference of two, as text for a person.
#pragma once

#include <string>
#include <vector>

#include "card/card.h"

namespace msprobe::app {

// A table for each section. `with_evidence`: a line for every claim instead, with what was seen.
std::string card_text(const card::Card& card, bool with_evidence);

std::string changes_text(const std::vector<card::Change>& changes);

}  // namespace msprobe::app
