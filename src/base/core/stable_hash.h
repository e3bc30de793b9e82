// SPDX-License-Identifier: Apache-2.0
// A 128-bit hash that is the same on every machine and in every build: it is written to files and
// compared later. Not for secrets.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace msprobe {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Hash128&) const = default;
};

std::string text(const Hash128& hash);  // 32 hexadecimal digits

// Takes in one piece after another; where a piece ends counts, so {"ab", "c"} is not {"a", "bc"}.
class StableHash {
 public:
  StableHash& add(std::string_view bytes);
  StableHash& add(std::uint64_t number);
  Hash128 value() const;

 private:
  void mix(std::uint64_t word);
  std::uint64_t high_ = 0x9e3779b97f4a7c15U;
  std::uint64_t low_ = 0xd1b54a32d192ed03U;
};

}  // namespace msprobe
