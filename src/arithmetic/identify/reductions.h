// SPDX-License-Identifier: Apache-2.0
// Card lines that describe a device's sums, normalizations and attention.
#pragma once

#include <vector>

#include "card/card.h"
#include "core/operation.h"

namespace msprobe::identify {

// The lines of section "reductions" for one dtype: sum, mean, cumsum, softmax, layer_norm,
// attention. REQUIRES: float32, float16 or bfloat16.
std::vector<card::Line> describe_reductions(const Compute& compute, DType dtype);

}  // namespace msprobe::identify
