// SPDX-License-Identifier: Apache-2.0
// Summary of a card in a few sentences.
#pragma once

#include <string>
#include <vector>

#include "card/card.h"

namespace msprobe::card {

// One sentence each: how products are added up, what the casts do that IEEE 754 does not, and the
// functions that deserve a look. Sections that are not on the card have no sentence.
std::vector<std::string> summary(const Card& card);

}  // namespace msprobe::card
