// SPDX-License-Identifier: Apache-2.0
// Passes over many numbers that operators of PyTorch would need several of, with memory for each.
#pragma once

#include <cstddef>
#include <span>

namespace msprobe::strict {

// The largest magnitude of the finite ones; 0 if there is none.
double largest_finite(std::span<const float> values);
double largest_finite(std::span<const double> values);

// The largest finite |one * other|. REQUIRES: equally many.
double largest_product(std::span<const float> one, std::span<const double> other);

// |given - right| of each element, 0 where that is not finite. Where `given` is not finite and
// |right| is at least `nearly_largest`: infinity, or NaN if `given` is. REQUIRES: equally many.
void distances(std::span<const float> given, std::span<const double> right, double nearly_largest,
               std::span<double> errors);

// spreads = max(spreads, |moved - base| / amplitude), where that is finite. REQUIRES: equally many.
void widen_spreads(std::span<const double> moved, std::span<const double> base, double amplitude,
                   std::span<double> spreads);

}  // namespace msprobe::strict
