// SPDX-License-Identifier: Apache-2.0
// The order in which a device adds the terms of a product, found from outside. Two terms are M and
// -M, so large that they swallow every small term that is added between them; all others are small
// and equal. The result counts the small terms that were added after M and -M had met. FPRev (Xie
// et al., 2024) finds any order of summation this way.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "identify/multiply.h"

namespace msprobe::identify {

struct Meeting {
  std::int64_t first, second;  // terms
  std::int64_t added;          // terms that have been added, both included, once the two have met
};

// Meetings of a few terms with every other one. Nothing where the device does not swallow small
// terms (its sums are wider than the masks) or where the counts make no sense.
std::optional<std::vector<Meeting>> observe_meetings(const Multiply& multiply, Format format);

// After how many terms two of them meet in a sum of this unit.
std::int64_t terms_until_met(const units::Unit& unit, std::int64_t terms, std::int64_t first,
                             std::int64_t second);

// How a unit takes the terms: its block, its order, and whether the running sum is one of them.
struct Structure {
  int block;
  bool joined;
  units::Order order;
};

// Every structure that explains the meetings.
std::vector<Structure> fitting_structures(const std::vector<Meeting>& meetings);

}  // namespace msprobe::identify
