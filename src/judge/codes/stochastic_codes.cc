// SPDX-License-Identifier: Apache-2.0
#include "codes/stochastic_codes.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "strict/finding.h"
#include "strict/wording.h"

namespace msprobe::codes {

using strict::doubt;
using strict::number_text;
using strict::passed;
using strict::place_text;
using strict::wrong;
namespace {

constexpr std::size_t kTenths = 10;
constexpr std::int64_t kFew = 32;  // roundings that say nothing together
constexpr double kDeviations = 5;  // of a sum of so many independent draws

// Of numbers that lie at about the same place between their neighbours: how much oftener the upper
// one was taken than it should be.
struct Balance {
  double excess = 0;    // sum of (1 if up, else 0) - r
  double variance = 0;  // sum of r (1 - r)
  std::int64_t count = 0;

  void add(bool up, double r) {
    excess += (up ? 1 : 0) - r;
    variance += r * (1 - r);
    ++count;
  }
  // With few draws, one more or less is nothing.
  bool is_off() const {
    return count >= kFew && std::abs(excess) > kDeviations * std::sqrt(variance) + 1;
  }
};

struct Roundings {
  Balance all;
  std::array<Balance, kTenths> tenths;
  std::int64_t strangers = 0;  // codes that are not next to their number
  std::int64_t first_stranger = -1;
  bool nearest = true;
};

bool is_neighbour(const CodePair& pair, double number, double device) {
  if (std::isnan(number)) return std::isnan(device);
  const double most = largest(pair.format);
  if (std::abs(number) > most) {
    return std::isnan(device) || std::isinf(device) || device == std::copysign(most, number);
  }
  const CodeNeighbours near = neighbours(pair.format, number);
  return device == near.lower || device == near.upper;
}

Roundings roundings_of(const CodePair& pair) {
  const at::Tensor codes = pair.device.contiguous();
  const at::Tensor numbers = pair.numbers.contiguous();
  const auto* code = codes.data_ptr<std::uint8_t>();
  const auto* number = numbers.data_ptr<double>();
  const auto& values = values_of(pair.format);
  Roundings found;
  for (std::int64_t i = 0; i < codes.numel(); ++i) {
    const double device = values[code[i]];
    if (!is_neighbour(pair, number[i], device)) {
      if (found.strangers++ == 0) found.first_stranger = i;
      continue;
    }
    if (!std::isfinite(number[i]) || std::abs(number[i]) > largest(pair.format)) continue;
    const CodeNeighbours near = neighbours(pair.format, number[i]);
    if (near.lower == near.upper) continue;
    const double r = (number[i] - near.lower) / (near.upper - near.lower);
    const bool up = device == near.upper;
    found.all.add(up, r);
    const auto tenth = std::min(static_cast<std::size_t>(r * kTenths), kTenths - 1);
    found.tenths[tenth].add(up, r);
    const double nearest = values[encode(pair.format, number[i])];
    found.nearest = found.nearest && device == nearest;
  }
  return found;
}

}  // namespace

StrictFinding judge_stochastic(const CodePair& pair) {
  const Roundings found = roundings_of(pair);
  if (found.strangers > 0) {
    StrictFinding finding =
        wrong(fmt::format("{} of {} codes of {} are no neighbour of their number, first at {}",
                          found.strangers, pair.device.numel(), name(pair.format),
                          place_text(pair.numbers.sizes(), found.first_stranger)));
    finding.error_over_bound = std::numeric_limits<double>::infinity();
    return finding;
  }
  const auto off = [](const Balance& balance, std::string_view which) {
    return fmt::format("of {} roundings{} the mean is off by {} of the distance of two codes",
                       balance.count, which,
                       number_text(balance.excess / static_cast<double>(balance.count)));
  };
  const std::string cause = found.nearest ? "rounded to nearest, not stochastically" : "biased";
  for (std::size_t i = 0; i < kTenths; ++i) {
    if (!found.tenths[i].is_off()) continue;
    return wrong(off(found.tenths[i], fmt::format(" at {} to {} tenths", i, i + 1)), cause);
  }
  if (found.all.is_off()) return wrong(off(found.all, ""), cause);
  StrictFinding finding =
      passed(fmt::format("rounded stochastically: {} codes are neighbours of their numbers, off to "
                         "no side",
                         found.all.count));
  if (found.all.count < kFew) doubt(finding, "too few numbers lie between two codes");
  return finding;
}

}  // namespace msprobe::codes
