// SPDX-License-Identifier: Apache-2.0
// Factors whose products show how a unit aligns, cuts and rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "identify/multiply.h"

namespace msprobe::identify {

enum class Kind : std::uint8_t {
  kNormal,      // of both signs and of one size
  kPositive,    // sums grow, and what is cut adds up
  kWide,        // sizes over 2^24
  kCancelling,  // large terms whose sum is zero, between small ones of every size
};
inline constexpr Kind kKinds[] = {Kind::kNormal, Kind::kPositive, Kind::kWide, Kind::kCancelling};

struct Factors {
  units::Shape shape;
  std::vector<float> left, right;
};

// Numbers of the format; the same for the same seed on every machine.
Factors make_factors(Format format, Kind kind, const units::Shape& shape, std::uint64_t seed);

}  // namespace msprobe::identify
