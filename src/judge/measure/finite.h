// SPDX-License-Identifier: Apache-2.0
// Finite numbers, real and complex.
#pragma once

#include <cmath>
#include <complex>

namespace msprobe::measure {

inline bool is_finite(double value) { return std::isfinite(value); }
inline bool is_finite(const std::complex<double>& value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

}  // namespace msprobe::measure
