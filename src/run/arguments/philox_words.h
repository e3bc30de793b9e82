// SPDX-License-Identifier: Apache-2.0
// Many numbers of Philox at once, bit by bit those that it gives one by one.
#pragma once

#include <cstdint>
#include <span>

namespace msprobe::arguments {

// Philox 4x32-10 (Salmon et al. 2011).
inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53;
inline constexpr std::uint32_t kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9;
inline constexpr std::uint32_t kPhiloxWeyl1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

// The words of the blocks from `counter` on. REQUIRES: whole blocks of four words.
void philox_words(std::uint64_t key, std::uint64_t counter, std::span<std::uint32_t> words);

// low + unit * width for each word, where unit is its upper 24 bits as a number of [0, 1). Rounds
// each step to float64, and the result to float32. REQUIRES: as many values as words.
void uniform_floats(std::span<const std::uint32_t> words, double low, double width,
                    std::span<float> values);

}  // namespace msprobe::arguments
