// SPDX-License-Identifier: Apache-2.0
// Passes over one channel of a batch normalisation: over its inputs x, whose distances from their
// mean are d, and over the gradients g that arrive at its results.
#pragma once

#include <cstddef>

namespace msprobe::strict {

// `parts` runs of `length` numbers, whose first ones are `step` apart.
struct Channel {
  const float* inputs;
  const float* gradients;  // null: they are all 0
  std::size_t parts;
  std::size_t length;
  std::size_t step;

  double count() const { return static_cast<double>(parts * length); }
};

// Sums over the channel, named by their terms.
struct ChannelSums {
  double mean = 0;
  double mean_gradient = 0;
  double dd = 0;
  double xx = 0, xxd = 0, xxdd = 0;
  double gd = 0, gg = 0, ggd = 0, ggdd = 0;
  double xxg = 0, xxgd = 0, xxgg = 0;
};

ChannelSums channel_sums(const Channel& channel);

// one + d * x's distance from the mean + g * the gradient.
struct Linear {
  double one = 0;
  double d = 0;
  double g = 0;
};

// A sum of products of such.
struct Quadratic {
  double one = 0, d = 0, g = 0, dd = 0, dg = 0, gg = 0;

  void add(double factor, const Linear& left, const Linear& right);
  void add_square(double factor, const Linear& both) { add(factor, both, both); }
  Quadratic times(double factor) const {
    return {one * factor, d * factor, g * factor, dd * factor, dg * factor, gg * factor};
  }
};

// The root of `squares` for every element, in the order of the inputs, at the same places. 0 where
// that is not a positive number.
void write_roots(const Channel& channel, double mean, const Quadratic& squares, double* roots);

}  // namespace msprobe::strict
