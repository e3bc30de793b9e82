// SPDX-License-Identifier: Apache-2.0
// The bound on |device - bench| at one element of a correct result. docs/verdicts.md derives it.
#pragma once

#include <cstdint>
#include <vector>

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

// Units of a half type by which a result may be off that was computed in float32 and rounded once;
// one more for a second rounding.
inline constexpr double kHalfUnits = 2;
// The same of one product: it is rounded once, in any direction, or twice to nearest.
inline constexpr double kProductUnits = 1;

// float16 and bfloat16, whose kernels compute in float32 as a rule.
bool is_half(const FloatType& type);

// What needs no further run: the result is correctly rounded but for a few units.
Limits first_limits(const FloatType& type);

// The same of a result that is one product: nothing on the way to it is of the half type.
Limits product_limits(const FloatType& type);

// The same where intermediate results have been rounded to the dtype itself.
Limits rounding_limits(const FloatType& type);

// With the measured spread of every element; `length`: terms that are summed.
Limits spread_limits(const FloatType& type, double length, const at::Tensor& spreads);

// The same for a half type whose intermediate results are float32.
Limits wide_limits(const FloatType& type, double length, const at::Tensor& spreads);

// `spreads` of few runs, where those of a few elements are small by chance: at least what elements
// of the same size have, as a rule. REQUIRES: not complex.
at::Tensor usual_spreads(const at::Tensor& spreads, const at::Tensor& bench);

// What a matrix unit adds to `limits` that cuts what does not fit: its sums of `length` terms
// drift. REQUIRES: limits have spreads; none of the tensors is complex.
Limits cut_limits(const FloatType& type, double length, const Limits& limits,
                  const at::Tensor& device, const at::Tensor& bench);

// m: the share of their limits that all elements may use, a few times what nine of ten need: one
// that is much worse than the others is not explained by what is true of all.
double share_of_most(const at::Tensor& error, const at::Tensor& limits);
// Of more elements than this, some tell that.
inline constexpr std::int64_t kSampledForMost = 1 << 14;

struct LoweredLimits {
  Limits limits;
  double used = 0;  // no element with a finite error uses a larger share of them
};

// The bound `limits` of results that sum equally many terms each, lowered to what the arithmetic
// shows that made them: none may need a larger share of it than a few times the third largest, but
// `least` always holds. `limits` where too few elements are inexact to tell. `terms`: how many
// terms of each element are not zero, where that is known. REQUIRES: neither has units, natives or
// drifts, `least` no spreads; the device's dtype is float32.
LoweredLimits as_others_need(const Limits& limits, const Limits& least, const at::Tensor& device,
                             const at::Tensor& bench, const at::Tensor& terms = {});
// The same, if a scan showed which shares of `limits` the elements use.
LoweredLimits as_others_need(const Limits& limits, const Limits& least, const Scan& used);

// A unit loses at most this much in each term, in 2^-23 of the power of two below the running sum:
// by cutting the term to 23 bits, and the sum to float32.
inline constexpr double kMostDrift = 2;
// A running sum of terms of both signs is, in the mean over the terms, at most this many times the
// root of the sum of their squares.
inline constexpr double kWalk = 2;
inline constexpr double kFloatEps = 0x1p-23;
// The least positive float32, by which each step of a sum may be rounded.
inline constexpr double kFloatSmallest = 0x1p-149;

}  // namespace msprobe::strict
