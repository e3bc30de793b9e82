// SPDX-License-Identifier: Apache-2.0
// Turns a card's lines about matrix products into an arithmetic to compute with.
#pragma once

#include <vector>

#include "card/card.h"
#include "core/result.h"
#include "units/known_products.h"

namespace msprobe::identify {

// An error: the card has no unit for products of the dtype, or one that we do not know.
Result<units::KnownProducts> known_products(const card::Card& card, DType dtype);

// Of every dtype whose unit is on the card.
Result<std::vector<units::KnownProducts>> known_products(const card::Card& card);

}  // namespace msprobe::identify
