// SPDX-License-Identifier: Apache-2.0
// What people ask of a quantised tensor: how much of it underflows or saturates, how much of the
// range it uses, how large its error is. A bad recipe is not the fault of a device.
#pragma once

#include <string>

#include "core/code_formats.h"
#include "low_precision/scaled_product.h"

namespace msprobe::codes {

struct Quantisation {
  double underflow = 0;  // share of the numbers that are not zero and whose code is
  double saturated = 0;  // share of the numbers beyond the largest code
  double used = 0;       // the largest number in it, of the largest code
  double error = 0;      // root mean square of the error, of that of the numbers
};

// `numbers` before, `codes` after the cast; float64 and uint8.
Quantisation quantisation_of(CodeFormat format, const at::Tensor& numbers, const at::Tensor& codes);

// "uses 100 % of the range of e4m3fn, 0.3 % underflow, 0 % saturated, error 2.6 %", and a sentence
// where the recipe is to blame.
std::string text(CodeFormat format, const Quantisation& found);

// Describes the quantised factors of a product from their codes, beside the error of the product.
std::string text(const low_precision::ScaledProduct& product, const at::Tensor& device,
                 const at::Tensor& bench);

}  // namespace msprobe::codes
