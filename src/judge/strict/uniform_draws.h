// SPDX-License-Identifier: Apache-2.0
// The uniform numbers that a CPU generator of PyTorch draws for float64 tensors, bit by bit,
// without its lock and its tensor for every draw.
#pragma once

#include <cstdint>
#include <random>
#include <span>

namespace msprobe::strict {

// x becomes x * (1 + size * r) + more * r, the latter away from zero, for each r that is drawn.
struct Move {
  double low, high;  // r lies between them
  double size;
  double more = 0;
};

class UniformDraws {
 public:
  explicit UniformDraws(std::uint64_t seed) : words_(static_cast<std::uint32_t>(seed)) {}

  // Moves each value by the next number of [low, high), as Tensor.uniform_(low, high) gives them.
  // Rounds each step, as operators on tensors do.
  void move(std::span<double> values, const Move& how);

 private:
  std::mt19937 words_;
};

}  // namespace msprobe::strict
