// SPDX-License-Identifier: Apache-2.0
// Elementary functions, correctly rounded. A result is first computed in long double, whose error
// is below 2^-50 of it for every function here; where that could decide between two neighbours, it
// is computed again with 113 bits (glibc's functions of _Float128). No result of a 16-bit or
// float32 input lies so near to the middle between two neighbours that 113 bits do not tell, except
// in the middle itself, which goes to the even one.
#pragma once

#include <span>
#include <string_view>

#include "core/dtype.h"

namespace msprobe::identify {

struct ReferenceFunction {
  std::string_view name;  // of the operation
  long double (*quick)(long double x);
  // The sign of the difference between f(x) with 113 bits and `middle`.
  int (*against)(double x, long double middle);
};
std::span<const ReferenceFunction> reference_functions();

// The exponent of "pow", a number of every dtype.
inline constexpr double kPowExponent = 1.703125;

struct Exact {
  long double value;  // to 2^-50 of it
  double rounded;     // correctly
};

// f(x), rounded once to nearest even, with infinities beyond the largest number. REQUIRES: x is
// finite; float16, bfloat16 or float32.
Exact evaluate(const ReferenceFunction& function, DType dtype, double x);

double correctly_rounded(const ReferenceFunction& function, DType dtype, double x);

}  // namespace msprobe::identify
