// SPDX-License-Identifier: Apache-2.0
// What the bound of a product adds to the limit of each element, in vectors. ProductBound says how
// much of the sizes of an element; docs/verdicts.md derives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strict/float_scan.h"

namespace msprobe::strict {

// Some elements of a product, as ProductBound has them.
struct ProductSlice {
  const double* bench;
  const double* sums;
  const double* squares;
  const float* float_squares;  // instead of `squares`, if those are null
  const double* wander;        // null: not known
  std::size_t length;
};

// Of sums that are rounded to nearest, in shares of the sizes.
struct RoundedNoise {
  double of_norm = 0;
  double of_sum = 0;
  double of_added = 0;  // 0: nothing is added to the product
  double of_wander = 0;
};

// What a matrix unit adds to that.
struct CutNoise {
  double drift = 0;     // of the mean power of two below a sum, what it can drift by
  double of_reach = 0;  // what sums can err that wander as far as that
  double of_drift = 0;  // what they can err that go straight, in drifts
  double most = 1;      // the share of both that all may use
  // From so many norms on, sums go straight to where they end, positive and negative ones. Infinite
  // if nothing is known of them.
  double straight[2] = {};
  double straight_wander = 0;  // and from so many times how far they wander
  double share[2] = {};        // of their drift, by which straight sums drift
};

void rounded_noise(const ProductSlice& slice, const RoundedNoise& how, double* noise);
// scan_floats() of a float32 result with that noise as its spreads, in one pass. Appends the places
// of the elements that are beyond their limits.
FloatScan scan_rounded_noise(const ProductSlice& slice, const float* device,
                             const RoundedNoise& how, const FloatLimits& limits,
                             std::vector<std::int64_t>& beyond);
// `drifts`: as Limits::drifts.
void cut_noise(const ProductSlice& slice, const RoundedNoise& rounded, const CutNoise& cut,
               double* noise, double* drifts);

// Of every element, what it can drift by, and what `cut` adds at most; straight[i] is 0 if its sum
// does not go straight.
void cut_room(const ProductSlice& slice, const CutNoise& cut, double* drifts, double* more,
              double* straight);

// reached[i] grows by more[i]; wander[i] becomes |reached[i] - sums[i] * way|, if that is larger.
void widen_wander(const float* more, const double* sums, double way, double* reached,
                  double* wander, std::size_t length);
void widen_wander(const double* more, const double* sums, double way, double* reached,
                  double* wander, std::size_t length);

}  // namespace msprobe::strict
