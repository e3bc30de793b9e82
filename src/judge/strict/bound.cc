// SPDX-License-Identifier: Apache-2.0
#include "strict/bound.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace msprobe::strict {

namespace {

// How much worse than most an element may be.
constexpr double kFewTimes = 6;
// So many elements show what most need.
constexpr std::int64_t kSampledForMost = 1 << 14;
// Of so many inexact elements, kOutliers may be outliers, which are at most so many times worse
// than the others. Errors of sums are nearly normal: of ten, one is that far out once in 10^8.
constexpr std::int64_t kEnoughElements = 10;
constexpr double kOfOthers = 16;
// The mean of the power of two below a sum that grows evenly is at most this share of it.
constexpr double kMeanPower = 0.375;
// A spread of several runs is at least this many roundings of the root of the squared terms.
constexpr double kLeastSpread = 0.4;

std::span<const double> doubles_of(const at::Tensor& tensor) {
  return {tensor.data_ptr<double>(), static_cast<std::size_t>(tensor.numel())};
}

// The share of their limits that all elements may use, by those that they use; 1 where too few are
// inexact to tell.
double allowed_share(const UsedShares& used) {
  return used.inexact < kEnoughElements ? 1 : std::min(1.0, kOfOthers * used.of_others());
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
  const at::Tensor wide = bench.to(at::kDouble).contiguous();
  const at::Tensor given = spreads.contiguous();
  at::Tensor usual = at::empty_like(given);
  widen_to_usual(doubles_of(wide), doubles_of(given),
                 {usual.data_ptr<double>(), static_cast<std::size_t>(usual.numel())});
  return usual;
}

double share_of_most(std::vector<double>& used) {
  if (used.empty()) return 1;
  for (double& share : used) {
    if (!std::isfinite(share)) share = 0;
  }
  const std::size_t rank = std::max<std::size_t>(1, used.size() * 9 / 10) - 1;
  const auto most = used.begin() + static_cast<std::ptrdiff_t>(rank);
  std::ranges::nth_element(used, most);
  return std::min(1.0, kFewTimes * *most);
}

std::int64_t sampling_step(std::int64_t elements) {
  return elements <= kSampledForMost
             ? 1
             : elements / kSampledForMost | 1;  // odd: no column of a matrix alone
}

at::Tensor as_large_as_most(const at::Tensor& limits, const at::Tensor& error) {
  const auto some = [](const at::Tensor& all) {
    return all.flatten().slice(0, 0, all.numel(), sampling_step(all.numel()));
  };
  const at::Tensor shares = (some(error).abs() / some(limits)).to(at::kDouble).contiguous();
  const double* first = shares.data_ptr<double>();
  std::vector<double> used(first, first + shares.numel());
  return limits * share_of_most(used);
}

LoweredLimits as_others_need(const Limits& limits, const Limits& least, const at::Tensor& device,
                             const at::Tensor& bench, const at::Tensor& terms) {
  const at::Tensor wide = bench.to(at::kDouble).contiguous();
  const at::Tensor narrow = device.contiguous();
  Limits lower = terms.defined() ? weighted(limits, wide, (terms / terms.max()).sqrt_()) : limits;
  if (lower.spreads.defined()) lower.spreads = lower.spreads.contiguous();
  const UsedShares used = used_shares(
      {narrow.data_ptr<float>(), static_cast<std::size_t>(narrow.numel())}, doubles_of(wide),
      {lower.relative, lower.absolute, lower.spread,
       lower.spreads.defined() ? lower.spreads.data_ptr<double>() : nullptr});
  return as_others_need(allowed_share(used) < 1 ? lower : limits, least, used);
}

LoweredLimits as_others_need(const Limits& limits, const Limits& least, const UsedShares& used) {
  const double share = allowed_share(used);
  if (!(share < 1)) return {limits, used.largest[0]};
  Limits lower = limits;
  lower.lower(share);
  lower.least_relative = least.relative;
  lower.least_absolute = least.absolute;
  return {std::move(lower), used.of_others() > 0 ? used.largest[0] / share : 0};
}

Limits cut_limits(const FloatType& type, double length, const Limits& limits,
                  const at::Tensor& device, const at::Tensor& bench) {
  const double drift = length * kFloatEps;
  const at::Tensor wide = bench.to(at::kDouble);
  const at::Tensor spreads = limits.spreads.view(bench.sizes());
  const at::Tensor more = wide.abs() * (kMostDrift * kMeanPower * drift) +
                          spreads * (kWalk * drift / (kLeastSpread * type.eps / 2));
  const at::Tensor added = as_large_as_most(more, device.to(at::kDouble) - wide);
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
