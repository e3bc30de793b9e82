// SPDX-License-Identifier: Apache-2.0
// Card lines that state the accuracy of a device's elementary functions.
#pragma once

#include <vector>

#include "card/card.h"
#include "core/operation.h"
#include "identify/reference_function.h"

namespace msprobe::identify {

// Every input of a dtype of 16 bits; of float32 a dense sample and the points where functions are
// hard. In ascending order, all finite, without -0.
std::vector<double> function_inputs(DType dtype);

// `inputs` as above. A curve comes with dtypes of 16 bits.
void describe_function(const Compute& compute, const ReferenceFunction& function, DType dtype,
                       const std::vector<double>& inputs, card::Card& card);

}  // namespace msprobe::identify
