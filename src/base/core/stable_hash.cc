// SPDX-License-Identifier: Apache-2.0
#include "core/stable_hash.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace msprobe {
namespace {

static_assert(std::endian::native == std::endian::little, "words are taken as they lie in memory");

// The finaliser of MurmurHash3: every bit of the input reaches every bit of the output.
std::uint64_t avalanche(std::uint64_t word) {
  word ^= word >> 33;
  word *= 0xff51afd7ed558ccdU;
  word ^= word >> 33;
  word *= 0xc4ceb9fe1a85ec53U;
  return word ^ (word >> 33);
}

}  // namespace

std::string text(const Hash128& hash) { return fmt::format("{:016x}{:016x}", hash.high, hash.low); }

// The body of MurmurHash3's 128-bit form, one word at a time.
void StableHash::mix(std::uint64_t word) {
  high_ ^= std::rotl(word * 0x87c37b91114253d5U, 31) * 0x4cf5ad432745937fU;
  high_ = (std::rotl(high_, 27) + low_) * 5 + 0x52dce729U;
  low_ ^= std::rotl(word * 0x4cf5ad432745937fU, 33) * 0x87c37b91114253d5U;
  low_ = (std::rotl(low_, 31) + high_) * 5 + 0x38495ab5U;
}

StableHash& StableHash::add(std::string_view bytes) {
  mix(bytes.size());
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    mix(word);
    bytes.remove_prefix(sizeof word);
  }
  if (!bytes.empty()) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    mix(word);
  }
  return *this;
}

StableHash& StableHash::add(std::uint64_t number) {
  mix(number);
  return *this;
}

Hash128 StableHash::value() const {
  const std::uint64_t high = avalanche(high_ + low_);
  return {high, avalanche(low_ + high)};
}

}  // namespace msprobe
