// SPDX-License-Identifier: Apache-2.0
// Identifies the matrix unit that computes a product: every unit whose order of summation fits is
// computed beside the device, and those remain whose results are the device's, bit for bit.
#pragma once

#include <cstdint>
#include <vector>

#include "identify/multiply.h"
#include "identify/sum_order.h"

namespace msprobe::identify {

// How many bits behind the leading one a running sum keeps: 23 for float32, 10 for float16, 7 for
// bfloat16.
int running_sum_bits(const Multiply& multiply, const Structure& structure);

// The same without knowing the order: the fewest bits that are kept between any of a few terms.
int fewest_sum_bits(const Multiply& multiply);

// What the device may round its inputs to, from products of one number with 1, if its sums keep so
// many bits. Empty: to something else.
std::vector<units::Inputs> possible_inputs(const Multiply& multiply, Format format,
                                           int running_bits);

// Whether float32 inputs are taken as two parts of bfloat16 each, whose products are added.
bool takes_two_parts(const Multiply& multiply);

struct FoundUnits {
  std::vector<units::Unit> fitting;  // all that give these results; empty: no known unit
  std::int64_t compared = 0;         // results
  std::int64_t equal = 0;            // those that every one of them reproduces, bit for bit
};

// Units that reproduce every result. Where there are none, those that reproduce 99.8 %: their sums
// differ from the device's in the last digits of what they drop.
FoundUnits find_units(const Multiply& multiply, Format format,
                      const std::vector<Structure>& structures);

// Share of results on further inputs that the unit predicts, bit for bit.
struct Prediction {
  std::int64_t equal = 0, compared = 0;
};
Prediction predict_unseen(const Multiply& multiply, Format format, const units::Unit& unit);

}  // namespace msprobe::identify
