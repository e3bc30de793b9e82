// SPDX-License-Identifier: Apache-2.0
// How far a right attention may be from the exact one, element by element.
#pragma once

#include "execute/npu/attention_core.h"
#include "execute/npu/bounded.h"

namespace msprobe::execute::npu {

struct BoundedAttention {
  Bounded y;    // (b, n1, s1, dv)
  Bounded lse;  // (b, n1, s1, 1)
};

// `weights_unit`: the relative rounding of the softmax before it meets the values; `scores_unit`:
// that of the scores, where they are kept in a half type. Products are summed in float32.
// REQUIRES: inputs in float64.
BoundedAttention bounded_attention(const AttentionInputs& inputs, double weights_unit,
                                   double scores_unit = 0);

}  // namespace msprobe::execute::npu
