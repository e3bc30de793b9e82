// SPDX-License-Identifier: Apache-2.0
// The modulus of a complex number, the same on every machine: std::hypot differs between versions
// of glibc and between processors in the last digit.
#pragma once

namespace msprobe {

// Without overflow on the way; off by little more than half a unit in the last place.
// Infinite if a part is, else NaN if a part is.
double modulus(double real, double imaginary);

}  // namespace msprobe
