// SPDX-License-Identifier: Apache-2.0
// How a device multiplies matrices of one dtype, as its card says. Plain data, which msprobe sends
// to its engines.
#pragma once

#include <vector>

#include "core/dtype.h"
#include "units/unit.h"

namespace msprobe::units {

struct KnownProducts {
  DType dtype = DType::kFloat32;
  // The unit on the card, then those that differ from it in fields which the card leaves open.
  // Never empty.
  std::vector<Unit> units = {};
  bool certain = false;  // the card's unit gave everything that was tried, bit for bit
  bool flushes_inputs = false;
  bool flushes_results = false;
  bool saturates = false;  // the largest number instead of infinity
};

}  // namespace msprobe::units
