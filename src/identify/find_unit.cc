// SPDX-License-Identifier: Apache-2.0
#include "identify/find_unit.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "identify/probe_data.h"

namespace msprobe::identify {
namespace {

using units::Cut;
using units::Inputs;
using units::Unit;

constexpr Cut kCuts[] = {Cut::kTowardZero, Cut::kDown, Cut::kNearest};
constexpr int kFewestBits = 8;
// Small first: most units are out after the first few results.
constexpr units::Shape kShapes[] = {{8, 40, 8}, {16, 130, 16}, {32, 200, 40}};
constexpr int kRounds = 3;

bool same_bits(float one, float other) {
  return std::bit_cast<std::uint32_t>(one) == std::bit_cast<std::uint32_t>(other) ||
         (std::isnan(one) && std::isnan(other)) || (one == 0 && other == 0);
}

std::vector<float> compute(const Unit& unit, Format format, const Factors& factors) {
  std::vector<float> out(static_cast<std::size_t>(factors.shape.rows * factors.shape.columns));
  units::product(unit, factors.shape, factors.left.data(), factors.right.data(), out.data());
  for (float& value : out) value = rounded_to(format, value);
  return out;
}

std::int64_t count_equal(const std::vector<float>& one, const std::vector<float>& other) {
  std::int64_t equal = 0;
  for (std::size_t at = 0; at < one.size(); ++at) equal += same_bits(one[at], other[at]) ? 1 : 0;
  return equal;
}

std::vector<Unit> candidates(Inputs inputs, const std::vector<Structure>& structures) {
  std::vector<Unit> units;
  for (const Structure& structure : structures) {
    for (int bits = kFewestBits; bits <= units::kMostBits; ++bits) {
      for (const Cut cut : kCuts) {
        for (const Cut sum : kCuts) {
          for (const bool normalized : {false, true}) {
            units.push_back({structure.block, bits, cut, sum, structure.joined, normalized, inputs,
                             structure.order});
          }
        }
      }
    }
  }
  return units;
}

std::uint64_t seed_of(std::size_t round, Kind kind, std::int64_t terms) {
  return round * 1000 + static_cast<std::uint64_t>(kind) * 100 + static_cast<std::uint64_t>(terms);
}

}  // namespace

float rounded_to(Format format, float value) {
  if (format == Format::kFloat16) return units::rounded_input(Inputs::kFloat16, value);
  if (format == Format::kBFloat16) return units::rounded_input(Inputs::kBFloat16, value);
  return value;
}

std::optional<Inputs> find_inputs(const Multiply& multiply, Format format) {
  if (format != Format::kFloat32) return Inputs::kAsTheyAre;
  Factors factors = make_factors(format, Kind::kNormal, {64, 16, 16}, 7);
  // One term of each sum is not zero: left[row][0] * 1.
  // Half of the rows are where float16 is subnormal and the others are not.
  for (std::size_t at = 0; at < factors.left.size(); ++at) {
    if (at % 16 != 0) factors.left[at] = 0;
    if (at >= factors.left.size() / 2) factors.left[at] *= 0x1p-18F;
  }
  std::ranges::fill(factors.right, 1.0F);
  const std::vector<float> out = multiply(factors.shape, factors.left, factors.right);
  for (const Inputs inputs :
       {Inputs::kAsTheyAre, Inputs::kHf32, Inputs::kTf32, Inputs::kBFloat16, Inputs::kFloat16}) {
    bool all = true;
    for (std::size_t row = 0; all && row < 64; ++row) {
      all = same_bits(out[row * 16], units::rounded_input(inputs, factors.left[row * 16]));
    }
    if (all) return inputs;
  }
  return std::nullopt;
}

int running_sum_bits(const Multiply& multiply, const Structure& structure) {
  // 1, then 2^-k, then -1, each in a block of its own and, of a sum in halves, in the first half.
  constexpr int kMost = 40;
  const std::int64_t terms = 8 * std::int64_t{structure.block};
  std::vector<std::int64_t> turns(static_cast<std::size_t>(terms));
  units::fill_order(structure.order, structure.block, turns);
  const auto term_at = [&](std::int64_t block) {
    return turns[static_cast<std::size_t>(block * structure.block)];
  };
  const units::Shape shape{kMost, terms, 16};
  std::vector<float> left(static_cast<std::size_t>(kMost * terms));
  for (int row = 0; row < kMost; ++row) {
    const auto in_row = [&](std::int64_t term) -> float& {
      return left[static_cast<std::size_t>(row * terms + term)];
    };
    in_row(term_at(0)) = 1;
    in_row(term_at(1)) = std::ldexp(1.0F, -row - 1);
    in_row(term_at(2)) = -1;
  }
  const std::vector<float> right(static_cast<std::size_t>(terms * 16), 1.0F);
  const std::vector<float> out = multiply(shape, left, right);
  int bits = 0;
  while (bits < kMost && out[static_cast<std::size_t>(bits) * 16] == std::ldexp(1.0F, -bits - 1)) {
    ++bits;
  }
  return bits;
}

FoundUnits find_units(const Multiply& multiply, Format format, Inputs inputs,
                      const std::vector<Structure>& structures) {
  FoundUnits found{candidates(inputs, structures), 0};
  for (const units::Shape& shape : kShapes) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (const Kind kind : kKinds) {
        const Factors factors =
            make_factors(format, kind, shape, seed_of(round, kind, shape.terms));
        const std::vector<float> out = multiply(shape, factors.left, factors.right);
        const auto differs = [&](const Unit& unit) {
          const std::vector<float> own = compute(unit, format, factors);
          return count_equal(own, out) < static_cast<std::int64_t>(out.size());
        };
        std::erase_if(found.fitting, differs);
        if (found.fitting.empty()) return found;
        found.compared += static_cast<std::int64_t>(out.size());
      }
    }
  }
  return found;
}

Prediction predict_unseen(const Multiply& multiply, Format format, const Unit& unit) {
  Prediction prediction;
  constexpr std::size_t kUnseen = 100;  // rounds that find_units() never uses
  for (const Kind kind : kKinds) {
    const units::Shape shape{64, 256, 64};
    const Factors factors = make_factors(format, kind, shape, seed_of(kUnseen, kind, shape.terms));
    const std::vector<float> out = multiply(shape, factors.left, factors.right);
    prediction.equal += count_equal(compute(unit, format, factors), out);
    prediction.compared += static_cast<std::int64_t>(out.size());
  }
  return prediction;
}

}  // namespace msprobe::identify
