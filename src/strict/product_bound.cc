// SPDX-License-Identifier: Apache-2.0
#include "strict/product_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/TensorIndexing.h>

#include "strict/bound.h"
#include "strict/lost_terms.h"
#include "strict/round_bits.h"
#include "strict/sample.h"

namespace msprobe::strict {
namespace {

// So many numbers of both factors are converted at once, or as many as the result has.
constexpr std::int64_t kPartElements = 1 << 15;
// One term in so many is looked at first, and at least so many; then one in fewer.
constexpr std::int64_t kPartOfTerms = 32;
constexpr std::int64_t kFewTerms = 8;
constexpr std::int64_t kLargerPartOfTerms = 8;
// From one term in so many on, it is worth while to ask whether float32 will do.
constexpr std::int64_t kManyTerms = 16;
// Of one element in so many, all terms are looked at apart from the others.
constexpr std::int64_t kElementsApart = 256;
// Into so many parts the terms are split to see where their sum wanders.
constexpr std::int64_t kParts = 16;
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
// So many elements tell whether factors were rounded.
constexpr std::int64_t kSampledForFactors = 1 << 9;
// A rounding to TF32 moves a factor by at most this.
constexpr double kTf32Rounding = 0x1p-11;

// The mean of the power of two below a sum that grows evenly from 0 to `sum`: p - 2/3 p^2 / |sum|,
// where p is the power of two below |sum|.
double mean_power(double sum) {
  constexpr std::uint64_t kExponent = 0x7FF0'0000'0000'0000;
  const double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) & kExponent);
  const double mean = power - 2.0 / 3 * power * (power / std::abs(sum));
  return std::isfinite(mean) ? mean : 0;
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

// 0 if there are none. Reorders them.
double lower_median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
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
  bound.bench_ = bench.to(at::kDouble).contiguous();
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
  for_parts(taken_, until, many ? summing_type() : at::kDouble, [&](const Product& part) {
    squares_ += at::matmul(part.left.square(), part.right.square()).view(squares_.sizes());
  });
  taken_ = until;
  norms_ = squares_.sqrt();
}

at::ScalarType ProductBound::summing_type() {
  if (!fits_float_) {
    fits_float_ = squares_fit(product_.left, -1) && squares_fit(product_.right, -2);
  }
  return *fits_float_ ? at::kFloat : at::kDouble;
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
  // Few terms show the sizes of all.
  const double straight =
      kStraight * std::sqrt(static_cast<double>(terms()) / static_cast<double>(taken_));
  const at::Tensor wide = device.to(at::kDouble).contiguous();
  limits.drifts = at::empty_like(sums_);
  at::Tensor more = at::empty_like(sums_);
  const double* given = wide.data_ptr<double>();
  const double* bench = bench_.data_ptr<double>();
  const double* sums = sums_.data_ptr<double>();
  const double* norms = norms_.data_ptr<double>();
  const double* wander = wander_.defined() ? wander_.data_ptr<double>() : nullptr;
  auto* drifts = limits.drifts.data_ptr<double>();
  auto* mores = more.data_ptr<double>();
  const std::int64_t count = sums_.numel();
  const auto reach = [&](std::int64_t i) {
    return wander == nullptr ? norms[i] : std::max(norms[i], wander[i]);
  };
  for (std::int64_t i = 0; i < count; ++i) {
    drifts[i] = mean_power(sums[i]) * term_unit;
    mores[i] = reach(i) * (kWalk * term_unit) + drifts[i] * kMostDrift;
  }
  const auto is_straight = [&](std::int64_t i) {
    return std::abs(sums[i]) > straight * norms[i] &&
           (wander == nullptr || std::abs(sums[i]) > kStraight * wander[i]);
  };
  std::vector<double> used;
  std::vector<double> shares[2];  // of positive sums, and of negative ones
  for (std::int64_t i = 0; i < count; i += sampling_step(count)) {
    const double error = given[i] - bench[i];
    used.push_back(std::abs(error) / mores[i]);
    if (is_straight(i) && std::isfinite(error)) {
      shares[sums[i] < 0 ? 1 : 0].push_back(error / drifts[i]);
    }
  }
  const double most = share_of_most(used);
  // Toward zero and down are the same for positive sums, and not for negative ones.
  const double share[2] = {std::clamp(lower_median(shares[0]), -kMostDrift, 0.0),
                           std::clamp(lower_median(shares[1]), -kMostDrift, kMostDrift)};
  for (std::int64_t i = 0; i < count; ++i) {
    const int group = sums[i] < 0 ? 1 : 0;
    if (!shares[group].empty() && is_straight(i) && std::isfinite(given[i] - bench[i])) {
      drifts[i] *= share[group];
      mores[i] = reach(i) * (kWalk * std::abs(share[group]) * term_unit);
    } else {
      drifts[i] = 0;
      mores[i] *= most;
    }
  }
  limits.spreads = limits.spreads + more;
  return limits;
}

void ProductBound::walk_sums() {
  at::Tensor running = at::zeros_like(sums_);
  wander_ = at::zeros_like(sums_);
  auto* wander = wander_.data_ptr<double>();
  const double* reached = running.data_ptr<double>();
  const double* sums = sums_.data_ptr<double>();
  std::int64_t start = 0;
  for (std::int64_t step = 1; step <= kParts; ++step) {
    const std::int64_t end = terms() * step / kParts;
    if (end == start) continue;
    for_parts(start, end, summing_type(), [&](const Product& part) {
      running += at::matmul(part.left, part.right).view(sums_.sizes());
    });
    const double way = static_cast<double>(end) / static_cast<double>(terms());
    for (std::int64_t i = 0; i < sums_.numel(); ++i) {
      wander[i] = std::max(wander[i], std::abs(reached[i] - sums[i] * way));
    }
    start = end;
  }
}

bool ProductBound::has_rounded_factors(const at::Tensor& error) const {
  const Sample sample = sample_of(product_, kSampledForFactors);
  // Few terms show the sizes of all.
  const double larger = std::sqrt(static_cast<double>(terms()) / static_cast<double>(taken_));
  const at::Tensor norms = sample.of(norms_) * larger;
  const at::Tensor wrong = sample.of(error);
  const double whole = size_of(wrong / norms);
  for (const int bits : {11, 10, 7}) {
    // Two factors, each moved by up to half a unit.
    const double expected = std::sqrt(2.0 / 3) * std::ldexp(1.0, -bits - 1);
    const bool narrow = type_.eps >= std::ldexp(1.0, -bits) || (tf32_ && bits >= kTf32Bits);
    if (narrow || whole < expected / 2 || whole > expected * 2) continue;
    const at::Tensor left = kept_bits(sample.left.to(at::kDouble), bits);
    const at::Tensor right = kept_bits(sample.right.to(at::kDouble), bits);
    const at::Tensor moved = at::matmul(left, right) - sample.of(sums_);
    if (size_of((wrong - moved) / norms) < kLeft * whole) return true;
  }
  return false;
}

bool ProductBound::has_faulty_terms(const at::Tensor& device) const {
  const at::Tensor error = error_of(device);
  return has_rounded_factors(error) || lost_terms(product_, error).left < kLeftByLoss;
}

Explanation ProductBound::explain(const at::Tensor& device, bool may_cut) {
  if (const auto found = scan_some_terms(device)) return {Arithmetic::kRounded, {}, *found};
  Explanation last;
  bool faulty = false;
  const auto is_rounded = [&] {
    last.limits = rounded(device);
    last.found = scan(device, bench_, last.limits);
    if (last.found.good()) last.arithmetic = Arithmetic::kRounded;
    return last.found.good();
  };
  const auto is_cut = [&] {
    if (!may_cut || faulty) return false;
    const Scan found = scan(device, bench_, cut(device));
    if (!found.good()) return false;
    faulty = has_faulty_terms(device);
    if (!faulty) last = {Arithmetic::kCut, {}, found};
    return !faulty;
  };
  // Some terms at first: that costs little, and is enough for most units.
  if (taken_ > 0 && is_cut()) return last;
  if (terms() / kLargerPartOfTerms > taken_) {
    take_terms(terms() / kLargerPartOfTerms);
    if (is_rounded() || is_cut()) return last;
  }
  take_terms(terms());
  if (is_rounded() || is_cut() || faulty) return last;
  walk_sums();
  if (!is_rounded()) is_cut();
  return last;
}

}  // namespace msprobe::strict
