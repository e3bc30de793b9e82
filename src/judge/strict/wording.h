// SPDX-License-Identifier: Apache-2.0
// How places and sizes are written in reasons and causes.
#pragma once

#include <string>

#include "libtorch/aten.h"
#include "strict/scan.h"

namespace msprobe::strict {

// "(2, 0, 7)"; "(0)" of a vector, "()" of a scalar.
std::string place_text(at::IntArrayRef shape, std::int64_t flat_index);

// "0.125"; "1+2j" of a complex element.
std::string element_text(const at::Tensor& tensor, std::int64_t at);

// Three significant digits: "1.25", "3e-07", "nan".
std::string number_text(double value);
// Six of them, for a calculation that a person repeats: "4.76837e-07".
std::string digits_text(double value);
// The number of number_text(). Sentences and tables show the same digits on every machine.
double three_digits(double value);

// "3 of 64 elements are beyond the bound (first (0, 3), last (7, 1)), worst at (7, 1): device 2,
// bench 1, 812 times its bound".
std::string excess_text(const Scan& scan, const at::Tensor& device, const at::Tensor& bench);
// The number in it; infinite where there is none. REQUIRES: an element is beyond its bound.
double excess_number(const Scan& scan);

}  // namespace msprobe::strict
