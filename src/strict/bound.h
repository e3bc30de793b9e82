// The bound on |device - bench| at one element of a correct result. docs/verdicts.md derives it.
#pragma once

#include "strict/float_type.h"
#include "strict/scan.h"

namespace msprobe::strict {

// Roundings a sound kernel makes of the result itself, in eps of its dtype.
inline constexpr double kResultEps = 4;
// Deviations of a sum of n terms, in sqrt(n) * u * (its size): four times the standard deviation of
// n independent roundings.
inline constexpr double kSumOfResult = 2;
inline constexpr double kSumOfTerms = 4;
// Intermediate results in the device's own dtype, in roundings of the inputs.
inline constexpr double kIntermediates = 4;
// How much more than the CPU in the same dtype a device may err.
inline constexpr double kNative = 4;

// What needs no further run: the result is correctly rounded but for a few units.
Limits rounding_limits(const FloatType& type);

// With the measured spread of every element; `length`: terms that are summed.
Limits spread_limits(const FloatType& type, double length, const at::Tensor& spreads);

}  // namespace msprobe::strict
