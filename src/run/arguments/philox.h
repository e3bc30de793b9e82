// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon et al., SC 2011): random numbers that are a function of a key and a
// counter, so that a tensor's values depend on nothing but whose they are.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace msprobe::arguments {

class Philox {
 public:
  using Block = std::array<std::uint32_t, 4>;

  explicit Philox(std::uint64_t key) : key_(key) {}
  // The stream of one argument of one call.
  Philox(std::uint64_t seed, std::string_view call, std::string_view path);

  Block block(std::uint64_t counter) const;

  // One after another; element i of a stream is always the same.
  std::uint32_t next32();
  std::uint64_t next64();
  void next_words(std::span<std::uint32_t> words);  // as next32 gives them, many at once
  double next_unit();                               // uniform in [0, 1), 53 bits
  // Uniform in [0, bound], both ends included.
  std::uint64_t next_upto(std::uint64_t bound);

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
  Block block_{};
  unsigned used_ = 4;
};

}  // namespace msprobe::arguments
