// SPDX-License-Identifier: Apache-2.0
// The card of a device as one HTML page: every claim with its evidence, and the errors of every
// function over the whole range of a 16-bit dtype. No script, no other file, no network.
#pragma once

#include <string>

#include "card/card.h"

namespace msprobe::report {

std::string card_page(const card::Card& card);

}  // namespace msprobe::report
