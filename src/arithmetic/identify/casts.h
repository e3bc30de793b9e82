// SPDX-License-Identifier: Apache-2.0
// Card lines that describe how a device casts numbers between dtypes.
#pragma once

#include <vector>

#include "card/card.h"
#include "core/operation.h"

namespace msprobe::identify {

struct CastPair {
  DType from, to;
};

// Those that the card has.
std::vector<CastPair> cast_pairs();

std::vector<card::Line> describe_cast(const Compute& compute, const CastPair& pair);

}  // namespace msprobe::identify
