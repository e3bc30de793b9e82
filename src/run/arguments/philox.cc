// SPDX-License-Identifier: Apache-2.0
#include "arguments/philox.h"

#include "arguments/philox_words.h"

namespace msprobe::arguments {
namespace {

// FNV-1a, then splitmix64's finisher: names that differ in one character get unrelated keys.
std::uint64_t mix(std::uint64_t state, std::string_view text) {
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  state ^= state >> 30;
  state *= 0xBF58476D1CE4E5B9U;
  state ^= state >> 27;
  state *= 0x94D049BB133111EBU;
  return state ^ (state >> 31);
}

}  // namespace

Philox::Philox(std::uint64_t seed, std::string_view call, std::string_view path)
    : key_(mix(mix(seed ^ 0xCBF29CE484222325U, call), path)) {}

Philox::Block Philox::block(std::uint64_t counter) const {
  Block state{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0};
  auto key0 = static_cast<std::uint32_t>(key_);
  auto key1 = static_cast<std::uint32_t>(key_ >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kPhiloxMultiplier0} * state[0];
    const std::uint64_t product1 = std::uint64_t{kPhiloxMultiplier1} * state[2];
    state = {static_cast<std::uint32_t>(product1 >> 32) ^ state[1] ^ key0,
             static_cast<std::uint32_t>(product1),
             static_cast<std::uint32_t>(product0 >> 32) ^ state[3] ^ key1,
             static_cast<std::uint32_t>(product0)};
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return state;
}

std::uint32_t Philox::next32() {
  if (used_ == block_.size()) {
    block_ = block(counter_++);
    used_ = 0;
  }
  return block_[used_++];
}

void Philox::next_words(std::span<std::uint32_t> words) {
  while (used_ < block_.size() && !words.empty()) {
    words.front() = next32();
    words = words.subspan(1);
  }
  const std::size_t whole = words.size() / block_.size();
  philox_words(key_, counter_, words.first(whole * block_.size()));
  counter_ += whole;
  for (std::uint32_t& word : words.subspan(whole * block_.size())) word = next32();
}

std::uint64_t Philox::next64() {
  const std::uint64_t high = next32();
  return (high << 32) | next32();
}

double Philox::next_unit() { return static_cast<double>(next64() >> 11) * 0x1p-53; }

std::uint64_t Philox::next_upto(std::uint64_t bound) {
  const std::uint64_t bits = next64();
  // The high half of a 128-bit product: as even as 64 bits allow, without a loop.
  return bound == UINT64_MAX ? bits
                             : static_cast<std::uint64_t>(
                                   (static_cast<unsigned __int128>(bits) * (bound + 1)) >> 64);
}

}  // namespace msprobe::arguments
