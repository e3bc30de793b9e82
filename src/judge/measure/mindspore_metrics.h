// SPDX-License-Identifier: Apache-2.0
// The three metrics of MindSpore's check, in double: b is the benchmark, t what was tested.
//
//   cosine              sum(b t) / (|b| |t|); complex: the modulus of the sum; 1 if both are all
//                       zero, 0 if one is. kReference: (1e-8 + sum(b t)) / (1e-8 + |b| |t|)
//   max_abs_error       max |b - t|
//   max_relative_error  max |b - t| / (|b| + (b = 0 ? 1e-8 : 0))
//
// Elements that are NaN on both sides, or the same infinity, are equal and left out. Any other NaN
// or infinity makes all three NaN or infinite.
#pragma once

#include "measure/metrics.h"

namespace msprobe::measure {

// Only these three fields and `count` are set. REQUIRES: equal element counts.
Metrics mindspore_metrics(const TensorView& device, const TensorView& bench, Arithmetic arithmetic);

}  // namespace msprobe::measure
