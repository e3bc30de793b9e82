// SPDX-License-Identifier: Apache-2.0
// Passes over many numbers that operators of PyTorch would need several of, with memory for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

// usual = max(spreads, the root of the mean square of the spreads of all elements whose `bench` has
// the same exponent). REQUIRES: equally many; what is written may be `spreads`.
void widen_to_usual(std::span<const double> bench, std::span<const double> spreads,
                    std::span<double> usual);

// So many of the elements may need much more of their limits than the others.
inline constexpr int kOutliers = 2;

struct UsedShares {
  std::int64_t inexact = 0;  // elements with a finite error other than 0
  // The largest shares of their limits that they use, the largest one first.
  std::array<double, kOutliers + 1> largest = {};

  double of_others() const { return largest[kOutliers]; }  // outliers aside
  // Those of further elements.
  void add(const UsedShares& more);
};

// relative * |bench| + absolute + spread * spreads[i].
struct ElementLimits {
  double relative;
  double absolute;
  double spread;
  const double* spreads;  // null: 0
};

// REQUIRES: equally many.
UsedShares used_shares(std::span<const float> device, std::span<const double> bench,
                       const ElementLimits& limits);

}  // namespace msprobe::strict
