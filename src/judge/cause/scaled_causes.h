// SPDX-License-Identifier: Apache-2.0
// What went wrong in a scaled product: faults that real kernels have, each computed and compared
// with what the device gave.
#pragma once

#include <string>

#include "low_precision/scaled_product.h"

namespace msprobe::cause {

// Empty if nothing leaves less than 30 % of the error. `bench`: float64, before it is rounded.
// `beyond`: the elements beyond their bound.
std::string scaled_cause(const low_precision::ScaledProduct& product, const at::Tensor& device,
                         const at::Tensor& bench, const at::Tensor& beyond);

}  // namespace msprobe::cause
