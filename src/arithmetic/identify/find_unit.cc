// SPDX-License-Identifier: Apache-2.0
#include "identify/find_unit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "identify/probe_data.h"

namespace msprobe::identify {
namespace {

using units::Accumulator;
using units::Cut;
using units::Inputs;
using units::Unit;

constexpr Cut kCuts[] = {Cut::kTowardZero, Cut::kDown, Cut::kNearest};

// What inputs of a format may be rounded to, as far as it changes them.
std::span<const Inputs> roundings_of(Format format) {
  static constexpr Inputs kFloat32[] = {Inputs::kAsTheyAre, Inputs::kHf32, Inputs::kTf32,
                                        Inputs::kBFloat16, Inputs::kFloat16};
  static constexpr Inputs kFloat16[] = {Inputs::kAsTheyAre, Inputs::kBFloat16};
  static constexpr Inputs kBFloat16[] = {Inputs::kAsTheyAre, Inputs::kFloat16};
  static constexpr Inputs kFloat8[] = {Inputs::kAsTheyAre};
  if (format == Format::kFloat32) return kFloat32;
  if (format == Format::kFloat8) return kFloat8;
  return format == Format::kFloat16 ? std::span<const Inputs>(kFloat16) : kBFloat16;
}

constexpr int kFewestBits = 8;
// Small first: most units are out after the first few results.
constexpr units::Shape kShapes[] = {{8, 40, 8}, {16, 130, 16}, {32, 200, 40}};
// Products of float8 often exist for whole multiples of 16 only.
constexpr units::Shape kFloat8Shapes[] = {{16, 48, 16}, {16, 128, 16}, {32, 208, 48}};
constexpr int kRounds = 3;
constexpr double kMostWrong = 0.002;
constexpr std::int64_t kMostWork = 400'000'000;
constexpr std::int64_t kFewResults = 1000;  // of which one in 500 may be wrong by chance

bool same_bits(float one, float other) {
  return std::bit_cast<std::uint32_t>(one) == std::bit_cast<std::uint32_t>(other) ||
         (std::isnan(one) && std::isnan(other)) || (one == 0 && other == 0);
}

std::vector<float> compute(const Unit& unit, Format format, const Factors& factors) {
  std::vector<float> out(static_cast<std::size_t>(factors.shape.rows * factors.shape.columns));
  units::product(unit, factors.shape, factors.left.data(), factors.right.data(), out.data());
  for (float& value : out) value = rounded_result(format, value);
  return out;
}

std::int64_t count_equal(const std::vector<float>& one, const std::vector<float>& other) {
  std::int64_t equal = 0;
  for (std::size_t at = 0; at < one.size(); ++at) equal += same_bits(one[at], other[at]) ? 1 : 0;
  return equal;
}

// One number and its product with 1.
struct Sample {
  float in, out;
};

std::vector<Sample> sample_inputs(const Multiply& multiply, Format format) {
  constexpr std::size_t kRows = 64;
  constexpr std::size_t kTerms = 16;
  Factors factors = make_factors(format, Kind::kNormal, {kRows, kTerms, 16}, 7);
  // One term of each sum is not zero: left[row][0] * 1.
  // Half of the rows are where float16 is subnormal and the others are not.
  for (std::size_t at = 0; at < factors.left.size(); ++at) {
    if (at % kTerms != 0) factors.left[at] = 0;
    if (at >= factors.left.size() / 2) {
      factors.left[at] = rounded_to(format, factors.left[at] * 0x1p-18F);
    }
  }
  std::ranges::fill(factors.right, 1.0F);
  const std::vector<float> out = multiply(factors.shape, factors.left, factors.right);
  std::vector<Sample> samples;
  for (std::size_t row = 0; row < kRows; ++row) {
    samples.push_back({factors.left[row * kTerms], out[row * 16]});
  }
  return samples;
}

// What a running sum of so many bits may be kept in. A float32 whose terms are cut to that few bits
// looks the same.
std::vector<Accumulator> accumulators_of(int running_bits) {
  if (running_bits <= 7) return {Accumulator::kFloat32, Accumulator::kBFloat16};
  if (running_bits <= 10) return {Accumulator::kFloat32, Accumulator::kFloat16};
  return {Accumulator::kFloat32};
}

void add_candidates(const Structure& structure, Inputs inputs, Accumulator accumulator,
                    std::vector<Unit>& units) {
  for (int bits = kFewestBits; bits <= units::kMostBits; ++bits) {
    for (const Cut cut : kCuts) {
      for (const Cut sum : kCuts) {
        for (const bool normalized : {false, true}) {
          units.push_back({structure.block, bits, cut, sum, structure.joined, normalized, inputs,
                           structure.order, accumulator});
        }
      }
    }
  }
}

struct Candidate {
  Unit unit;
  std::int64_t wrong = 0;
};

std::vector<Candidate> candidates(const Multiply& multiply, Format format,
                                  const std::vector<Structure>& structures) {
  std::vector<Unit> units;
  for (const Structure& structure : structures) {
    const int bits = running_sum_bits(multiply, structure);
    std::vector<Inputs> possible = possible_inputs(multiply, format, bits);
    // Sums of few bits hide what the inputs were rounded to from single terms, not from products.
    if (possible.empty()) {
      possible.assign(roundings_of(format).begin(), roundings_of(format).end());
    }
    for (const Inputs inputs : possible) {
      for (const Accumulator accumulator : accumulators_of(bits)) {
        add_candidates(structure, inputs, accumulator, units);
      }
    }
  }
  std::ranges::sort(units);
  const auto repeated = std::ranges::unique(units);  // wide and narrow structures
  units.erase(repeated.begin(), repeated.end());
  std::vector<Candidate> made;
  for (const Unit& unit : units) made.push_back({unit});
  return made;
}

std::uint64_t seed_of(std::size_t round, Kind kind, std::int64_t terms) {
  return round * 1000 + static_cast<std::uint64_t>(kind) * 100 + static_cast<std::uint64_t>(terms);
}

constexpr int kMostSumBits = 40;

// How small 2^-k may be and still come out of M + M 2^-k - M, at these places among zeros. Both
// factors are scaled, so that float8 can have them.
int bits_between(const Multiply& multiply, std::int64_t terms,
                 const std::array<std::int64_t, 3>& places) {
  constexpr int kColumns = 48;
  constexpr float kLarge = 0x1p4F;
  std::vector<float> left(static_cast<std::size_t>(kMostSumBits * terms));
  std::vector<float> right(static_cast<std::size_t>(terms * kColumns), kLarge);
  for (int k = 1; k <= kMostSumBits; ++k) {
    const auto in_row = [&](std::int64_t term) -> float& {
      return left[static_cast<std::size_t>((k - 1) * terms + term)];
    };
    in_row(places[0]) = kLarge;
    in_row(places[1]) = std::ldexp(kLarge, -(k / 2));
    in_row(places[2]) = -kLarge;
    right[static_cast<std::size_t>(places[1] * kColumns + k - 1)] = std::ldexp(kLarge, k / 2 - k);
  }
  const std::vector<float> out = multiply({kMostSumBits, terms, kColumns}, left, right);
  int bits = 0;
  const auto survives = [&](int k) {
    return out[static_cast<std::size_t>((k - 1) * (kColumns + 1))] ==
           std::ldexp(kLarge * kLarge, -k);
  };
  while (bits < kMostSumBits && survives(bits + 1)) ++bits;
  return bits;
}

FoundUnits best_of(const std::vector<Candidate>& left, FoundUnits found) {
  const std::int64_t fewest = std::ranges::min(left, {}, &Candidate::wrong).wrong;
  found.equal = found.compared - fewest;
  for (const Candidate& candidate : left) {
    if (candidate.wrong == fewest) found.fitting.push_back(candidate.unit);
  }
  return found;
}

// Those that are wrong in at most this share of the results, and of these the best ones.
FoundUnits eliminate(const Multiply& multiply, Format format, std::vector<Candidate> left,
                     double tolerance) {
  FoundUnits found;
  std::int64_t work = 0;  // terms added
  for (const units::Shape& shape : format == Format::kFloat8 ? kFloat8Shapes : kShapes) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (const Kind kind : kKinds) {
        const Factors factors =
            make_factors(format, kind, shape, seed_of(round, kind, shape.terms));
        const std::vector<float> out = multiply(shape, factors.left, factors.right);
        const auto size = static_cast<std::int64_t>(out.size());
        found.compared += size;
        work += size * shape.terms * static_cast<std::int64_t>(left.size());
        const double allowed = tolerance * static_cast<double>(found.compared + kFewResults);
        std::erase_if(left, [&](Candidate& candidate) {
          candidate.wrong += size - count_equal(compute(candidate.unit, format, factors), out);
          return static_cast<double>(candidate.wrong) > allowed;
        });
        if (left.empty()) return {};
      }
      // Narrow sums hide most of what a unit does: many units stay possible.
      if (work > kMostWork) return best_of(left, found);
    }
  }
  return best_of(left, found);
}

// e4m3fn: 3 bits behind the leading one, subnormal below 2^-6, at most 448.
float as_float8(float value) {
  const int exponent = value == 0 ? -6 : std::max(std::ilogb(value), -6);
  const float unit = std::ldexp(1.0F, exponent - 3);
  return std::clamp(std::nearbyint(value / unit) * unit, -448.0F, 448.0F);
}

}  // namespace

float rounded_to(Format format, float value) {
  if (format == Format::kFloat8) return as_float8(value);
  if (format == Format::kFloat16) return units::rounded_input(Inputs::kFloat16, value);
  if (format == Format::kBFloat16) return units::rounded_input(Inputs::kBFloat16, value);
  return value;
}

float rounded_result(Format format, float value) {
  return format == Format::kFloat8 ? value : rounded_to(format, value);
}

std::vector<Inputs> possible_inputs(const Multiply& multiply, Format format, int running_bits) {
  const std::vector<Sample> samples = sample_inputs(multiply, format);
  std::vector<Inputs> possible;
  for (const Inputs inputs : roundings_of(format)) {
    for (const Accumulator accumulator : accumulators_of(running_bits)) {
      const auto fits = [&](const Sample& sample) {
        const float taken = units::rounded_input(inputs, sample.in);
        return same_bits(sample.out,
                         rounded_result(format, units::rounded_sum(accumulator, taken)));
      };
      if (!std::ranges::all_of(samples, fits)) continue;
      possible.push_back(inputs);
      break;
    }
  }
  return possible;
}

bool takes_two_parts(const Multiply& multiply) {
  return std::ranges::all_of(sample_inputs(multiply, Format::kFloat32), [](const Sample& sample) {
    const float high = units::rounded_input(Inputs::kBFloat16, sample.in);
    const float low = units::rounded_input(Inputs::kBFloat16, sample.in - high);
    return same_bits(sample.out, high + low);
  });
}

int running_sum_bits(const Multiply& multiply, const Structure& structure) {
  // Each in its own block and, of a sum in halves, in the first half.
  const std::int64_t terms = 16 * std::int64_t{structure.block};
  std::vector<std::int64_t> turns(static_cast<std::size_t>(terms));
  units::fill_order(structure.order, structure.block, turns);
  const auto term_at = [&](std::int64_t block) {
    return turns[static_cast<std::size_t>(block * structure.block)];
  };
  return bits_between(multiply, terms, {term_at(0), term_at(1), term_at(2)});
}

int fewest_sum_bits(const Multiply& multiply) {
  // Two of the three meet first; if they are 1 and -1, nothing is lost.
  int fewest = kMostSumBits;
  for (const std::array<std::int64_t, 3>& places : {std::array<std::int64_t, 3>{0, 1, 2},
                                                    {0, 100, 200},
                                                    {3, 255, 7},
                                                    {250, 2, 130},
                                                    {9, 77, 8}}) {
    fewest = std::min(fewest, bits_between(multiply, 256, places));
  }
  return fewest;
}

FoundUnits find_units(const Multiply& multiply, Format format,
                      const std::vector<Structure>& structures) {
  const std::vector<Candidate> all = candidates(multiply, format, structures);
  for (const double tolerance : {0.0, kMostWrong}) {
    FoundUnits found = eliminate(multiply, format, all, tolerance);
    if (!found.fitting.empty()) return found;
  }
  return {};
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
