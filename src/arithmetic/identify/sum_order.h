// SPDX-License-Identifier: Apache-2.0
// The order in which a device adds the terms of a product, found from outside. Two terms are M and
// -M, so large that they swallow every small term that is added between them; all others are small
// and equal. The result counts the small terms that were added after M and -M had met. FPRev (Xie
// et al., 2024) finds any order of summation this way.
#pragma once

#include <cstdint>
#include <vector>

#include "identify/multiply.h"

namespace msprobe::identify {

struct Meeting {
  std::int64_t first, second;  // terms
  std::int64_t added;          // terms that have been added, both included, once the two have met
};

// How a unit takes the terms: its block, its order, whether the running sum is one of them, and
// whether sums inside a block are wide enough to lose nothing (what is lost, is then lost when the
// block is added to a narrow running sum).
struct Structure {
  int block;
  bool joined;
  units::Order order;
  bool wide = false;

  bool operator==(const Structure&) const = default;
};

// Every structure that explains the meetings.
std::vector<Structure> fitting_structures(const std::vector<Meeting>& meetings);

// Structures with usual blocks, for sums whose order does not show.
std::vector<Structure> usual_structures();

struct SumOrder {
  std::vector<Meeting> meetings;  // of a few terms with every other one; empty: they make no sense
  std::vector<Structure> structures;  // that explain them
};

// Nothing if the device does not swallow small terms (its sums are wider than every pair of
// masks) or where the counts make no sense.
SumOrder find_order(const Multiply& multiply, Format format);

}  // namespace msprobe::identify
