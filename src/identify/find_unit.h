// SPDX-License-Identifier: Apache-2.0
// Which matrix unit computes a product: every unit whose order of summation fits is computed beside
// the device, and those remain whose results are the device's, bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "identify/multiply.h"
#include "identify/sum_order.h"

namespace msprobe::identify {

// What the device rounds its inputs to, from products of one number with 1. Nothing: to something
// else, or sums keep too few bits to tell.
std::optional<units::Inputs> find_inputs(const Multiply& multiply, Format format);

// How many bits behind the leading one a running sum keeps: 23 for float32, 10 for float16, 7 for
// bfloat16.
int running_sum_bits(const Multiply& multiply, const Structure& structure);

struct FoundUnits {
  std::vector<units::Unit> fitting;  // those that cannot be told apart; empty: no known unit
  std::int64_t compared = 0;         // results that they reproduce, bit for bit
};

FoundUnits find_units(const Multiply& multiply, Format format, units::Inputs inputs,
                      const std::vector<Structure>& structures);

// Share of results on further inputs that the unit predicts, bit for bit.
struct Prediction {
  std::int64_t equal = 0, compared = 0;
};
Prediction predict_unseen(const Multiply& multiply, Format format, const units::Unit& unit);

}  // namespace msprobe::identify
