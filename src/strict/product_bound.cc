// SPDX-License-Identifier: Apache-2.0
#include "strict/product_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <ATen/TensorIndexing.h>

#include "strict/bound.h"
#include "strict/lost_terms.h"
#include "strict/round_bits.h"

namespace msprobe::strict {
namespace {

// So many numbers of both factors are converted at once, or as many as the result has.
constexpr std::int64_t kPartElements = 1 << 15;
// So many of the terms are looked at first, and at least so many.
constexpr std::int64_t kPartOfTerms = 32;
constexpr std::int64_t kFewTerms = 8;
// From one term in so many on, it is worth while to ask whether float32 will do.
constexpr std::int64_t kManyTerms = 4;
// Of one element in so many, all terms are looked at apart from the others.
constexpr std::int64_t kElementsApart = 256;
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

// Whether float32 holds products of squares of the numbers that count: the largest of each row or
// column. Squares are of one sign, so that float32 sums them well enough.
bool squares_fit(const at::Tensor& factor, std::int64_t dim) {
  constexpr double kLeast = 1e-8;
  constexpr double kMost = 1e8;
  if (factor.scalar_type() == at::kDouble || factor.numel() == 0) return false;
  const at::Tensor tops = factor.to(at::kFloat).abs().amax(dim);
  return tops.eq(0).logical_or(tops.ge(kLeast).logical_and(tops.le(kMost))).all().item<bool>();
}

double size_of(const at::Tensor& values) {
  return std::sqrt(values.square().nan_to_num(0, 0, 0).mean().item<double>());
}

}  // namespace

std::optional<ProductBound> ProductBound::of(Product product, const at::Tensor& bench,
                                             const FloatType& type, bool tf32) {
  ProductBound bound(std::move(product), type, tf32);
  const std::vector<std::int64_t> shape = shape_of(bound.product_);
  if (c10::multiply_integers(shape) != bench.numel()) return std::nullopt;
  bound.bench_ = bench.to(at::kDouble);
  bound.sums_ = bound.bench_;
  if (const at::Tensor& added = bound.product_.added; added.defined()) {
    // What is added is spread over the product as PyTorch does it.
    bound.sums_ = bound.bench_.view(shape).sub(added.to(at::kDouble)).view(bench.sizes());
  }
  bound.squares_ = at::zeros_like(bound.bench_);
  return bound;
}

void ProductBound::for_parts(std::int64_t start, std::int64_t end, at::ScalarType type,
                             const std::function<void(const Product&)>& take) const {
  const std::int64_t both =
      (product_.left.numel() + product_.right.numel()) / std::max<std::int64_t>(1, terms());
  const std::int64_t room = std::max(kPartElements, bench_.numel());
  const std::int64_t length = std::max<std::int64_t>(1, room / std::max<std::int64_t>(1, both));
  for (; start < end; start += length) {
    const std::int64_t count = std::min(length, end - start);
    take({product_.left.narrow(-1, start, count).to(type),
          product_.right.narrow(-2, start, count).to(type),
          {}});
  }
}

void ProductBound::take_terms(std::int64_t until) {
  const bool many = (until - taken_) * kManyTerms > terms();
  const bool in_float = many && squares_fit(product_.left, -1) && squares_fit(product_.right, -2);
  for_parts(taken_, until, in_float ? at::kFloat : at::kDouble, [&](const Product& part) {
    squares_ += at::matmul(part.left.square(), part.right.square()).view(squares_.sizes());
  });
  taken_ = until;
  norms_ = squares_.sqrt();
}

at::Tensor ProductBound::error_of(const at::Tensor& device) const {
  return device.to(at::kDouble) - bench_;
}

// What roundings to nearest do to sums.
Limits ProductBound::limits_of(const at::Tensor& norms, const at::Tensor& sums,
                               const at::Tensor& bench) const {
  const double sum_unit = std::sqrt(static_cast<double>(terms())) * type_.accumulator_eps / 2;
  const double of_norms = kOfTerms * sum_unit + (tf32_ ? 8 * kTf32Rounding : 0);
  const double of_sums = kOfSum * sum_unit + (tf32_ ? 2 * kTf32Rounding : 0);
  at::Tensor noise = norms * of_norms;
  noise.add_(sums.abs(), of_sums);
  if (product_.added.defined()) noise.add_((bench - sums).abs_(), type_.eps);
  Limits limits = product_limits(type_);
  limits.absolute += static_cast<double>(terms()) * kFloatSmallest;
  limits.spread = 1;
  limits.spreads = std::move(noise);
  return limits;
}

at::Tensor ProductBound::norms_at(const at::Tensor& places) const {
  const std::vector<std::int64_t> shape = shape_of(product_);
  std::vector<std::int64_t> rows = shape;
  std::vector<std::int64_t> columns = shape;
  rows.back() = terms();
  std::swap(columns[columns.size() - 2], columns.back());
  columns.back() = terms();
  const at::Tensor left = product_.left.expand(rows);
  const at::Tensor right = product_.right.mT().expand(columns);
  const std::int64_t length = std::max<std::int64_t>(1, kPartElements / terms());
  std::vector<at::Tensor> norms;
  for (const at::Tensor& some : places.split(length)) {
    at::Tensor rest = some;
    std::vector<at::indexing::TensorIndex> index;
    for (std::size_t i = shape.size(); i-- > 0;) {
      index.insert(index.begin(), rest.remainder(shape[i]));
      rest = rest.div(shape[i], "floor");
    }
    const at::indexing::TensorIndex column = index.back();
    index.pop_back();
    const at::Tensor row_factors = left.index(index).to(at::kDouble);
    index.back() = column;
    const at::Tensor terms = right.index(index).to(at::kDouble).mul_(row_factors);
    norms.push_back(terms.square_().sum(-1).sqrt_());
  }
  return at::cat(norms);
}

std::optional<Scan> ProductBound::scan_some_terms(const at::Tensor& device) {
  const std::int64_t some = std::max(kFewTerms, terms() / kPartOfTerms);
  if (some >= terms()) return std::nullopt;
  take_terms(some);
  const Limits limits = rounded(device);
  Scan found = scan(device, bench_, limits);
  if (found.good()) return found;
  if (found.not_finite > 0 || found.beyond > bench_.numel() / kElementsApart) return std::nullopt;
  const at::Tensor places = beyond_mask(device, bench_, limits).flatten().nonzero().flatten();
  const auto at_places = [&](const at::Tensor& all) {
    return all.flatten().index_select(0, places);
  };
  const at::Tensor bench = at_places(bench_);
  const Limits exact = limits_of(norms_at(places), at_places(sums_), bench);
  const Scan rest = scan(at_places(device), bench, exact);
  if (!rest.good()) return std::nullopt;
  found.beyond = 0;
  found.worst = 0;
  found.worst_inside = std::max(found.worst_inside, rest.worst_inside);
  return found;
}

Limits ProductBound::rounded(const at::Tensor& device) const {
  Limits limits = limits_of(norms_, sums_, bench_);
  if (!wander_.defined()) return limits;
  const double sum_unit = std::sqrt(static_cast<double>(terms())) * type_.accumulator_eps / 2;
  limits.spreads += as_large_as_most(wander_ * (kOfWander * sum_unit), error_of(device));
  return limits;
}

Limits ProductBound::cut(const at::Tensor& device) const {
  Limits limits = rounded(device);
  const double term_unit = static_cast<double>(terms()) * kFloatEps;
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
  at::Tensor running = at::zeros_like(sums_);
  wander_ = at::zeros_like(sums_);
  std::int64_t start = 0;
  for (std::int64_t step = 1; step <= kParts; ++step) {
    const std::int64_t end = terms() * step / kParts;
    if (end == start) continue;
    for_parts(start, end, at::kDouble, [&](const Product& part) {
      running += at::matmul(part.left, part.right).view(sums_.sizes());
    });
    const double way = static_cast<double>(end) / static_cast<double>(terms());
    wander_ = at::maximum(wander_, (running - sums_ * way).abs());
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
    at::Tensor moved = -sums_;
    for_parts(0, terms(), at::kDouble, [&](const Product& part) {
      const at::Tensor left = kept_bits(part.left, bits);
      moved += at::matmul(left, kept_bits(part.right, bits)).view(sums_.sizes());
    });
    if (size_of((error - moved) / norms_) < kLeft * whole) return true;
  }
  return false;
}

bool ProductBound::has_faulty_terms(const at::Tensor& device) const {
  const at::Tensor error = error_of(device);
  return has_rounded_factors(error) || lost_terms(product_, error).left < kLeftByLoss;
}

}  // namespace msprobe::strict
