// SPDX-License-Identifier: Apache-2.0
// The rule of run_ut: an output passes when its cosine similarity is above 0.99 and it meets the
// dual-thousandth (float16, bfloat16) or the dual-ten-thousandth standard (every other float).
#pragma once

#include "core/dtype.h"

namespace msprobe::documented {

// Each must be exceeded.
struct OlderLimits {
  double cosine = 0.99;
  double dual_1000 = 0.999;
  double dual_10000 = 0.9999;
};

constexpr bool is_held_to_dual_1000(DType device) {
  return device == DType::kFloat16 || device == DType::kBFloat16;
}

}  // namespace msprobe::documented
