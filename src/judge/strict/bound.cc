// SPDX-License-Identifier: Apache-2.0
#include "strict/bound.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace msprobe::strict {

namespace {

// Factor by which an element may be worse than nine of ten.
constexpr double kFewTimes = 6;
// "Sums and norms" needs at least kEnoughElements inexact elements. Up to kOutliers of them may use
// kOfOthers times the share of the next one: errors of sums are nearly normal, and one in ten is
// that far out once in 10^8.
constexpr std::int64_t kEnoughElements = 10;
constexpr double kOfOthers = 16;
// The mean of the power of two below a sum that grows evenly is at most this share of it.
constexpr double kMeanPower = 0.375;
// A spread of several runs is at least this many roundings of the root of the squared terms.
constexpr double kLeastSpread = 0.4;

// The share of their limits that all elements may use, by those that they use; 1 where too few are
// inexact to tell.
double allowed_share(const Scan& used) {
  return used.inexact < kEnoughElements ? 1 : std::min(1.0, kOfOthers * used.share_of_others());
}

// `limits` in its spreads alone, each of them times a factor of its own.
Limits weighted(const Limits& limits, const at::Tensor& bench, const at::Tensor& factors) {
  at::Tensor sizes = bench.abs().mul_(limits.relative).add_(limits.absolute);
  if (limits.spreads.defined()) sizes += limits.spreads.view(bench.sizes()) * limits.spread;
  Limits weighted{.spreads = sizes.mul_(factors)};
  weighted.add(Of::kSpread, 1, "this bound times the root of the share of terms that are not zero");
  return weighted;
}

}  // namespace

bool is_half(const FloatType& type) { return type.eps == 0x1p-10 || type.eps == 0x1p-7; }

Limits first_limits(const FloatType& type) {
  if (!is_half(type)) return rounding_limits(type);
  Limits limits;
  limits.add(Of::kUnit, kHalfUnits, "2 units of b");
  return limits;
}

Limits product_limits(const FloatType& type) {
  if (!is_half(type)) return rounding_limits(type);
  Limits limits;
  limits.add(Of::kUnit, kProductUnits, "1 unit of b");
  return limits;
}

Limits rounding_limits(const FloatType& type) {
  Limits limits;
  limits.add(Of::kBench, kResultEps * type.eps, "4 eps |b|");
  limits.add(Of::kOne, kResultEps * type.smallest, "4 tiny");
  return limits;
}

Limits spread_limits(const FloatType& type, double length, const at::Tensor& spreads) {
  const double accumulated = std::sqrt(length) * type.accumulator_eps;
  Limits limits = rounding_limits(type);
  limits.add(Of::kBench, kSumOfResult * accumulated / 2, "sqrt(n) eps_a |b|");
  limits.add(Of::kOne, length * kFloatSmallest, "n 2^-149");
  limits.add(Of::kSpread, kIntermediates, "4 s");
  limits.add(Of::kSpread, kSumOfTerms * accumulated / type.eps, "4 sqrt(n) eps_a / eps s");
  limits.spreads = spreads;
  return limits;
}

Limits wide_limits(const FloatType& type, double length, const at::Tensor& spreads) {
  const double accumulated = std::sqrt(length) * type.accumulator_eps;
  Limits limits = first_limits(type);
  limits.add(Of::kBench, kResultEps * type.accumulator_eps, "4 eps_a |b|");
  limits.add(Of::kBench, kSumOfResult * accumulated / 2, "sqrt(n) eps_a |b|");
  limits.add(Of::kOne, length * kFloatSmallest, "n 2^-149");
  limits.add(Of::kSpread, 2 * kIntermediates * type.accumulator_eps / type.eps,
             "2 * 4 eps_a / eps s");
  limits.add(Of::kSpread, 2 * kSumOfTerms * accumulated / type.eps, "2 * 4 sqrt(n) eps_a / eps s");
  limits.spreads = spreads;
  return limits;
}

at::Tensor usual_spreads(const at::Tensor& spreads, const at::Tensor& bench) {
  struct Size {
    double squares = 0;
    double count = 0;
  };
  // Numbers of one exponent; those below the least normal one are of one size.
  const auto exponent_of = [](double value) {
    return std::bit_cast<std::uint64_t>(value) << 1 >> 53;
  };
  // Two of each: neighbours are often of one size, and a sum waits for the one before it.
  std::vector<std::array<Size, 2>> sizes(2048);
  const at::Tensor wide = bench.to(at::kDouble).contiguous();
  const at::Tensor usual = spreads.clone(at::MemoryFormat::Contiguous);
  const std::span benches(wide.data_ptr<double>(), static_cast<std::size_t>(wide.numel()));
  const std::span all(usual.data_ptr<double>(), benches.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    Size& size = sizes[exponent_of(benches[i])][i % 2];
    const double square = all[i] * all[i];
    size.squares += std::isfinite(square) ? square : 0;
    size.count += 1;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [even, odd] = sizes[exponent_of(benches[i])];
    all[i] = std::max(all[i], std::sqrt((even.squares + odd.squares) / (even.count + odd.count)));
  }
  return usual;
}

double share_of_most(const at::Tensor& error, const at::Tensor& limits) {
  const std::int64_t elements = limits.numel();
  // Odd: no column of a matrix alone.
  const std::int64_t step = elements <= kSampledForMost ? 1 : elements / kSampledForMost | 1;
  const auto some = [&](const at::Tensor& all) {
    return all.flatten().slice(0, 0, elements, step);
  };
  const at::Tensor used = (some(error).abs() / some(limits)).nan_to_num(0, 0, 0);
  if (used.numel() == 0) return 1;
  const std::int64_t rank = std::max<std::int64_t>(1, used.numel() * 9 / 10);
  return std::min(1.0, kFewTimes * std::get<0>(used.kthvalue(rank)).item<double>());
}

LoweredLimits as_others_need(const Limits& limits, const Limits& least, const at::Tensor& device,
                             const at::Tensor& bench, const at::Tensor& terms) {
  const Limits own = terms.defined()
                         ? weighted(limits, bench.to(at::kDouble), (terms / terms.max()).sqrt_())
                         : limits;
  const Scan used = scan(device, bench, own, Look::kShares);
  return as_others_need(allowed_share(used) < 1 ? own : limits, least, used);
}

LoweredLimits as_others_need(const Limits& limits, const Limits& least, const Scan& used) {
  const double share = allowed_share(used);
  if (!(share < 1)) return {limits, used.largest[0]};
  Limits lower = limits;
  lower.lower(share);
  lower.least_relative = least.relative;
  lower.least_absolute = least.absolute;
  return {std::move(lower), used.share_of_others() > 0 ? used.largest[0] / share : 0};
}

Limits cut_limits(const FloatType& type, double length, const Limits& limits,
                  const at::Tensor& device, const at::Tensor& bench) {
  const double drift = length * kFloatEps;
  const at::Tensor wide = bench.to(at::kDouble);
  const at::Tensor spreads = limits.spreads.view(bench.sizes());
  const at::Tensor more = wide.abs() * (kMostDrift * kMeanPower * drift) +
                          spreads * (kWalk * drift / (kLeastSpread * type.eps / 2));
  const at::Tensor added = more * share_of_most(device.to(at::kDouble) - wide, more);
  Limits cut = limits;
  cut.spread = 1;
  cut.spreads = spreads * limits.spread + added;
  for (Term& term : cut.terms) {
    if (term.of == Of::kSpread) term = {term.formula, Of::kSizes, term.coefficient, spreads};
  }
  cut.terms.push_back({"m (0.75 n 2^-23 |b| + 2 n 2^-23 s / (0.4 u))", Of::kSizes, 1, added});
  return cut;
}

}  // namespace msprobe::strict
