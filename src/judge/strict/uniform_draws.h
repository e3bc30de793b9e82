// SPDX-License-Identifier: Apache-2.0
// The uniform numbers that a CPU generator of PyTorch draws for float64 tensors, bit by bit, many
// at once: PyTorch draws them one by one, which takes longer than most operators.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
  explicit UniformDraws(std::uint64_t seed);

  // Moves each value by the next number of [low, high), as Tensor.uniform_(low, high) gives them.
  // Rounds each step, as operators on tensors do.
  void move(std::span<double> values, const Move& how);

 private:
  // The words that are left of the last ones, or new ones.
  std::span<const std::uint32_t> words();

  static constexpr std::size_t kWords = 624;  // of the Mersenne twister, two to a number

  std::array<std::uint32_t, kWords> state_;
  std::array<std::uint32_t, kWords> words_;
  std::size_t used_ = kWords;
};

}  // namespace msprobe::strict
