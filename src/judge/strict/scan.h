// SPDX-License-Identifier: Apache-2.0
// One pass over a device tensor and its benchmark: which elements are farther apart than a limit
// that is given element by element.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "libtorch/aten.h"
#include "strict/float_type.h"

namespace msprobe::strict {

// What a coefficient of a bound is multiplied by.
enum class Of : std::uint8_t { kBench, kUnit, kOne, kSpread, kNative, kSizes };

// One term of a bound, with the formula that docs/verdicts.md has for it.
struct Term {
  std::string_view formula;
  Of of;
  double coefficient;
  at::Tensor sizes = {};  // of kSizes alone
};

// |device - bench| <= relative * |bench| + units * (unit of bench) + absolute + spread * spreads[i]
//                     + native * natives[i]
// where the right side is at least least_relative * |bench| + least_absolute.
struct Limits {
  double relative = 0;
  double units = 0;  // distances from the number of the device's dtype below |bench| to the next
  double absolute = 0;
  double spread = 0;      // of what a rounding of the inputs does to this element
  double native = 0;      // of the error the CPU makes there in the device's own dtype
  double native_cap = 0;  // beyond which that error explains nothing
  double least_relative = 0, least_absolute = 0;
  at::Tensor spreads = {};  // as bench in shape, float64; undefined: 0
  // Infinite: there the CPU overflows, and the device may. NaN: there the CPU gives NaN, and the
  // device need not be finite.
  at::Tensor natives = {};
  // Where the results of a device whose sums drift would lie, from bench; undefined: 0. The nearer
  // of both counts.
  at::Tensor drifts = {};
  // The terms that the coefficients above are the sums of, for --explain.
  std::vector<Term> terms = {};

  void add(Of of, double coefficient, std::string_view formula);
  // Every term becomes this share of itself.
  void lower(double share);
};

// Number of elements that may need much more of their limits than the others.
inline constexpr int kOutliers = 2;

struct Scan {
  // Counts are of real numbers: a complex element has two.
  std::int64_t count = 0;
  std::int64_t differ = 0;      // not the rounded benchmark, bit for bit (NaN equals NaN)
  std::int64_t beyond = 0;      // outside the limit, or not finite on one side only
  std::int64_t not_finite = 0;  // the latter of these
  std::int64_t first = -1;      // of those beyond
  std::int64_t last = -1;
  std::int64_t worst_at = -1;
  double worst = 0;         // largest error beyond, in limits; infinite where not finite
  double worst_inside = 0;  // largest error within, in limits

  // Of kShares alone: how many elements have a finite error other than 0, and the largest shares of
  // their limits that they use, the largest one first.
  std::int64_t inexact = 0;
  std::array<double, kOutliers + 1> largest = {};

  bool good() const { return beyond == 0; }
  double share_of_others() const { return largest[kOutliers]; }  // outliers aside
  // Of further elements; places stay those of the first ones.
  void add(const Scan& more);
};

enum class Look : std::uint8_t {
  kWhole,
  kUntilBeyond,  // ends soon after the first element that is beyond: only good() counts then
  kShares,
};

// The benchmark is rounded to the device's dtype first; what then is equal is equal, infinities and
// NaN included. REQUIRES: both plain (on the CPU, contiguous), floating or complex, of equal shape.
Scan scan(const at::Tensor& device, const at::Tensor& bench, const Limits& limits,
          Look look = Look::kWhole);

// Bit for bit, of one dtype. REQUIRES: both plain, of equal shape.
bool same_bytes(const at::Tensor& one, const at::Tensor& other);

// Elements outside the limit, as a bool tensor: for the search of a cause.
at::Tensor beyond_mask(const at::Tensor& device, const at::Tensor& bench, const Limits& limits);

// The error of every element in limits, in float64: 0 where it is equal, infinite where it is not
// finite on one side only, the largest double where it differs and may not.
at::Tensor over_bound(const at::Tensor& device, const at::Tensor& bench, const Limits& limits);

}  // namespace msprobe::strict
