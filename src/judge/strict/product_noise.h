// SPDX-License-Identifier: Apache-2.0
// What the bound of a product adds to the limit of each element. ProductBound says how much of the
// sizes of an element; docs/verdicts.md derives it.
#pragma once

#include "libtorch/aten.h"

namespace msprobe::strict {

// Elements of a product one after another, with what is known of them; all but `device` in float64.
struct ProductElements {
  at::Tensor device, bench;
  at::Tensor sums;    // bench without what is added: S
  at::Tensor norms;   // N
  at::Tensor wander;  // W; undefined: not known
  double taken = 0;   // terms that the norms are of
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
  // A sum of more norms than this goes straight to where it ends: positive sums, negative sums.
  // Infinite if nothing is known of them.
  double straight[2] = {};
  double straight_wander = 0;  // the same in multiples of how far it wanders
  double share[2] = {};        // of their drift, by which straight sums drift
};

at::Tensor rounded_noise(const ProductElements& elements, const RoundedNoise& how);

// Of every element, what it can drift by, what a unit adds at most, and whether its sum goes
// straight.
struct CutRoom {
  at::Tensor drifts, more, straight;
};
CutRoom cut_room(const ProductElements& elements, const CutNoise& cut);

// `noise` is that of a unit alone; `drifts` as Limits::drifts.
struct Drift {
  at::Tensor noise, drifts;
};
Drift cut_noise(const ProductElements& elements, const CutNoise& cut);

// P: the mean of the power of two below sums that grow evenly from 0; 0 where that is not finite.
at::Tensor mean_power(const at::Tensor& sums);

}  // namespace msprobe::strict
