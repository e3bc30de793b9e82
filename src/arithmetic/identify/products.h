// SPDX-License-Identifier: Apache-2.0
// Card lines that describe how a device multiplies matrices.
#pragma once

#include <vector>

#include "card/card.h"
#include "core/operation.h"
#include "identify/multiply.h"

namespace msprobe::identify {

// A product on the device. NaN everywhere if the device fails; `failure` then says why.
Multiply multiply_on(const Compute& compute, DType dtype, std::string& failure);

// The lines of section "products" for one dtype. REQUIRES: float32, float16, bfloat16 or
// float8_e4m3fn, whose products are those of _scaled_mm.
std::vector<card::Line> describe_products(const Compute& compute, DType dtype);

}  // namespace msprobe::identify
