// SPDX-License-Identifier: Apache-2.0
#include "strict/product_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "strict/bound.h"
#include "strict/lost_terms.h"
#include "strict/round_bits.h"

namespace msprobe::strict {
namespace {

// Into so many parts the terms are split to see where their sum wanders.
constexpr std::int64_t kParts = 32;
// Deviations of sums that are rounded to nearest, in sqrt(n) * u.
constexpr double kOfSum = 2;
constexpr double kOfTerms = 4;
constexpr double kOfWander = 4;
// From so many norms on, sums run straight to where they end.
constexpr double kStraight = 8;
// A computed hypothesis fits when it leaves less than this share of the error.
constexpr double kLeft = 0.5;
// Sums that drift look much like sums without their last terms, but not as much as that.
constexpr double kLeftByLoss = 0.05;
constexpr int kTf32Bits = 10;
// A rounding to TF32 moves a factor by at most this.
constexpr double kTf32Rounding = 0x1p-11;

// The mean of the power of two below a sum that grows evenly from 0 to `sums`: p - 2/3 p^2 / |sum|,
// where p is the power of two below |sum|.
at::Tensor mean_power(const at::Tensor& sums) {
  const at::Tensor mantissa = std::get<0>(at::frexp(sums)).abs() * 2;  // 1..2, or 0
  const at::Tensor share = (1 - 2.0 / 3 / mantissa) / mantissa;
  return (sums.abs() * share).nan_to_num(0, 0, 0);
}

double size_of(const at::Tensor& values) {
  return std::sqrt(values.square().nan_to_num(0, 0, 0).mean().item<double>());
}

}  // namespace

std::optional<ProductBound> ProductBound::of(Product product, const at::Tensor& bench,
                                             const FloatType& type, bool tf32) {
  ProductBound bound(std::move(product), type, tf32);
  const Product& p = bound.product_;
  const at::Tensor squares = at::matmul(p.left.square(), p.right.square());
  if (squares.numel() != bench.numel()) return std::nullopt;
  bound.terms_ = static_cast<double>(p.left.size(-1));
  bound.norms_ = squares.sqrt_().view(bench.sizes());
  bound.bench_ = bench.to(at::kDouble);
  bound.sums_ = bound.bench_;
  if (p.added.defined()) {
    // What is added is spread over the product as PyTorch does it.
    bound.sums_ = bound.bench_.view(squares.sizes()).sub(p.added).view(bench.sizes());
  }
  return bound;
}

at::Tensor ProductBound::error_of(const at::Tensor& device) const {
  return device.to(at::kDouble) - bench_;
}

// What roundings to nearest do to sums.
at::Tensor ProductBound::noise() const {
  const double sum_unit = std::sqrt(terms_) * type_.accumulator_eps / 2;
  at::Tensor noise = norms_ * (kOfTerms * sum_unit);
  noise += sums_.abs() * (kOfSum * sum_unit);
  if (product_.added.defined()) noise += (bench_ - sums_).abs_() * type_.eps;
  if (tf32_) noise += norms_ * (8 * kTf32Rounding) + sums_.abs() * (2 * kTf32Rounding);
  return noise;
}

Limits ProductBound::rounded(const at::Tensor& device) const {
  Limits limits = first_limits(type_);
  limits.absolute += terms_ * kFloatSmallest;
  limits.spread = 1;
  limits.spreads = noise();
  if (!wander_.defined()) return limits;
  const double sum_unit = std::sqrt(terms_) * type_.accumulator_eps / 2;
  limits.spreads += as_large_as_most(wander_ * (kOfWander * sum_unit), error_of(device));
  return limits;
}

Limits ProductBound::cut(const at::Tensor& device) const {
  Limits limits = rounded(device);
  const double term_unit = terms_ * kFloatEps;
  const at::Tensor reach = wander_.defined() ? at::maximum(norms_, wander_) : norms_;
  const at::Tensor drift = mean_power(sums_) * term_unit;
  const at::Tensor error = error_of(device);
  at::Tensor more = as_large_as_most((reach * (kWalk * term_unit)).add_(drift, kMostDrift), error);
  limits.drifts = at::zeros_like(drift);
  const at::Tensor straight = sums_.abs().gt(reach * kStraight).logical_and(error.isfinite());
  // Toward zero and down are the same for positive sums, and not for negative ones.
  for (const double sign : {1.0, -1.0}) {
    const at::Tensor group = straight.logical_and((sums_ * sign).gt(0));
    if (!group.any().item<bool>()) continue;
    double share =
        (error.masked_select(group) / drift.masked_select(group)).median().item<double>();
    share = std::clamp(share, -kMostDrift, sign > 0 ? 0.0 : kMostDrift);
    limits.drifts = at::where(group, drift * share, limits.drifts);
    more = at::where(group, reach * (kWalk * std::abs(share) * term_unit), more);
  }
  limits.spreads = limits.spreads + more;
  return limits;
}

void ProductBound::walk_sums() {
  const std::int64_t terms = product_.left.size(-1);
  at::Tensor running;
  wander_ = at::zeros_like(sums_);
  std::int64_t start = 0;
  for (std::int64_t part = 1; part <= kParts; ++part) {
    const std::int64_t end = terms * part / kParts;
    if (end == start) continue;
    const at::Tensor more = at::matmul(product_.left.narrow(-1, start, end - start),
                                       product_.right.narrow(-2, start, end - start));
    running = running.defined() ? running + more : more;
    const double way = static_cast<double>(end) / static_cast<double>(terms);
    wander_ = at::maximum(wander_, (running.view(sums_.sizes()) - sums_ * way).abs());
    start = end;
  }
}

bool ProductBound::has_rounded_factors(const at::Tensor& error) const {
  const double whole = size_of(error / norms_);
  for (const int bits : {11, 10, 7}) {
    // Two factors, each moved by up to half a unit.
    const double expected = std::sqrt(2.0 / 3) * std::ldexp(1.0, -bits - 1);
    const bool narrow = type_.eps >= std::ldexp(1.0, -bits) || (tf32_ && bits >= kTf32Bits);
    if (narrow || whole < expected / 2 || whole > expected * 2) continue;
    const at::Tensor moved =
        at::matmul(kept_bits(product_.left, bits), kept_bits(product_.right, bits))
            .view(sums_.sizes()) -
        sums_;
    if (size_of((error - moved) / norms_) < kLeft * whole) return true;
  }
  return false;
}

bool ProductBound::has_faulty_terms(const at::Tensor& device) const {
  const at::Tensor error = error_of(device);
  return has_rounded_factors(error) || lost_terms(product_, error).left < kLeftByLoss;
}

}  // namespace msprobe::strict
