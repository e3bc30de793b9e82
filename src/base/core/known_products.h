// SPDX-License-Identifier: Apache-2.0
// How a device multiplies matrices of one dtype, as its card says. Plain data: it crosses the
// border between msprobe and the engine.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"

namespace msprobe {

struct KnownProducts {
  DType dtype = DType::kFloat32;
  // Matrix units, as units::parse_unit takes them: the one on the card, then those that differ from
  // it in fields which the card leaves open. Never empty.
  std::vector<std::string> units = {};
  bool certain = false;  // the card's unit gave everything that was tried, bit for bit
  bool flushes_inputs = false;
  bool flushes_results = false;
  bool saturates = false;  // the largest number instead of infinity
};

}  // namespace msprobe
