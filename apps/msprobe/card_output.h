// SPDX-License-Identifier: Apache-2.0
// A card, and the difference of two, as text for a person.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "card/card.h"

namespace msprobe::app {

// The summary, at most `columns` wide, and a table for each section. `with_evidence`: instead of
// the tables a line for every claim, with what was seen.
std::string card_text(const card::Card& card, bool with_evidence, std::size_t columns);

std::string changes_text(const std::vector<card::Change>& changes);

}  // namespace msprobe::app
