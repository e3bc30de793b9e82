// SPDX-License-Identifier: Apache-2.0
// How one statistic of two tensors differs, as the columns of the table say it.
#pragma once

#include <cstdint>
#include <string>

#include "dump_compare/item_cells.h"

namespace msprobe::dump_compare {

struct Difference {
  enum class Kind : std::uint8_t {
    kMissing,   // a side is missing, or both are devices
    kNone,      // equal
    kOther,     // texts that differ: "Diff"
    kNan,       // NaN on one side
    kInfinite,  // an infinity on one side, or two of other signs
    kNumber,
  };
  Kind kind = Kind::kMissing;
  double value = 0;     // target - golden; of kInfinite the infinity shown
  double relative = 0;  // |value / golden|; infinite if golden is 0

  // The relative difference as a number; nothing to go by is -1.
  double relative_or_none() const;
};

Difference difference_of(const ItemCell& target, const ItemCell& golden);

void append_difference(std::string& out, const Difference& difference);
// In percent: "28.050845871654683%".
void append_relative(std::string& out, const Difference& difference);

}  // namespace msprobe::dump_compare
