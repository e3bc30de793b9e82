// SPDX-License-Identifier: Apache-2.0
#include "identify/probe_data.h"

#include <bit>
#include <cmath>
#include <random>

namespace msprobe::identify {
namespace {

// Only the bits of the generator are used: distributions differ between libraries.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : generator_(seed) {}

  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(count));
  }
  // 1 <= x < 2, with the bits of a float32
  float significand() {
    return std::bit_cast<float>(0x3f800000U | static_cast<std::uint32_t>(generator_() >> 41U));
  }
  float sign() { return (generator_() >> 63U) == 0 ? 1.0F : -1.0F; }

 private:
  std::mt19937_64 generator_;
};

float draw(Draws& draws, Kind kind) {
  const float value = draws.significand();
  switch (kind) {
    case Kind::kPositive:
      return value;
    case Kind::kNormal:
      return std::ldexp(draws.sign() * value, static_cast<int>(draws.below(3)) - 1);
    case Kind::kWide:
    case Kind::kCancelling:
      break;
  }
  return std::ldexp(draws.sign() * value, static_cast<int>(draws.below(12)) - 6);
}

// Of each row, some neighbours become M and -M; the column has equal factors there.
void add_cancelling_pairs(Draws& draws, Format format, Factors& factors) {
  const units::Shape& shape = factors.shape;
  constexpr float kLarge = 0x1p6F;
  for (std::int64_t term = 0; term + 1 < shape.terms; term += 1 + draws.below(5)) {
    for (std::int64_t column = 0; column < shape.columns; ++column) {
      const auto at = static_cast<std::size_t>(term * shape.columns + column);
      const auto next = at + static_cast<std::size_t>(shape.columns);
      factors.right[at] = rounded_to(format, draws.significand() * kLarge);
      factors.right[next] = factors.right[at];
    }
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      const auto at = static_cast<std::size_t>(row * shape.terms + term);
      const float large = std::ldexp(kLarge, -static_cast<int>(draws.below(4)));
      factors.left[at] = rounded_to(format, draws.significand() * large);
      factors.left[at + 1] = -factors.left[at];
    }
    ++term;
  }
}

}  // namespace

Factors make_factors(Format format, Kind kind, const units::Shape& shape, std::uint64_t seed) {
  Draws draws(seed);
  Factors factors{shape, std::vector<float>(static_cast<std::size_t>(shape.rows * shape.terms)),
                  std::vector<float>(static_cast<std::size_t>(shape.terms * shape.columns))};
  for (float& value : factors.left) value = rounded_to(format, draw(draws, kind));
  for (float& value : factors.right) value = rounded_to(format, draw(draws, kind));
  if (kind == Kind::kCancelling) add_cancelling_pairs(draws, format, factors);
  return factors;
}

}  // namespace msprobe::identify
