// SPDX-License-Identifier: Apache-2.0
// A scaled product in the arithmetic of a matrix unit.
#pragma once

#include "low_precision/scaled_product.h"
#include "units/unit.h"

namespace msprobe::cause {

// The result in float64, without the bias, before it is rounded. Scales of rows and tensors are
// taken after the sum, those of 128 terms after each 128 of them, those of 16 and 32 inside the
// unit.
at::Tensor unit_sums(const low_precision::ScaledProduct& product, const units::Unit& unit);

// The operations that takes.
double unit_cost(const low_precision::ScaledProduct& product);

}  // namespace msprobe::cause
