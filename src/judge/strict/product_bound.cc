// SPDX-License-Identifier: Apache-2.0
#include "strict/product_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "strict/bound.h"

namespace msprobe::strict {
namespace {

// So many elements are judged at once: what their limits are made of stays in the cache.
constexpr std::int64_t kAtOnce = 1 << 17;
// So many terms of single elements are looked at at once.
constexpr std::int64_t kTermsAtOnce = 1 << 18;
// So many show what most need.
constexpr std::int64_t kSampledForMost = 1 << 14;
// Deviations of sums that are rounded to nearest, in sqrt(n) * u.
constexpr double kOfSum = 2;
constexpr double kOfTerms = 4;
constexpr double kOfWander = 4;
// From so many norms on, sums run straight to where they end.
constexpr double kStraight = 8;
// A rounding to TF32 moves a factor by at most this.
constexpr double kTf32Rounding = 0x1p-11;

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

}  // namespace

std::optional<ProductBound> ProductBound::of(const Product& product, const at::Tensor& bench,
                                             const FloatType& type, bool tf32) {
  const std::vector<std::int64_t> shape = shape_of(product);
  if (c10::multiply_integers(shape) != bench.numel()) return std::nullopt;
  ProductBound bound(in_matrices(product), type, tf32);
  bound.bench_ = bench.to(at::kDouble).contiguous();
  bound.sums_ = bound.bench_;
  if (const at::Tensor& added = bound.product_.added; added.defined()) {
    // What is added is spread over the product as PyTorch does it.
    bound.sums_ = bound.bench_.view(shape).sub(added.to(at::kDouble)).view(bench.sizes());
  }
  return bound;
}

bool ProductBound::restart_in_double() {
  if (in_double_ || (squares_fit(product_.left, -1) && squares_fit(product_.right.all(), -2))) {
    return false;
  }
  in_double_ = true;
  return true;
}

ProductBound::Elements ProductBound::some_of(const at::Tensor& device, std::int64_t count) const {
  return elements_of(sample_of(product_, count, looked_at()), device);
}

ProductBound::Elements ProductBound::elements_of(const Sample& sample,
                                                 const at::Tensor& device) const {
  const auto some = [&](const at::Tensor& all) { return sample.of(all).contiguous().view({-1}); };
  const ProductTerms sizes({sample.left, sample.right, {}}, taken_, walked_, summing_type());
  const at::Tensor sums = some(sums_);
  return {some(device),
          some(bench_),
          sums,
          sizes.squares(sizes.all()),
          sizes.wander(sizes.all(), sums),
          static_cast<double>(taken_)};
}

RoundedNoise ProductBound::rounded_by(const at::Tensor& device) const {
  return rounded_by(walked_ > 0 ? some_of(device, kSampledForMost) : Elements{});
}

void ProductBound::for_elements(const at::Tensor& device, const auto& take) const {
  const ProductTerms sizes(product_, taken_, walked_, summing_type());
  const at::Tensor all[] = {device.view({-1}), bench_.view({-1}), sums_.view({-1})};
  sizes.for_parts(kAtOnce, [&](const ProductPart& part) {
    const at::Tensor squares = sizes.squares(part);
    const auto some = [&](const at::Tensor& every) {
      return every.narrow(0, part.start, squares.numel());
    };
    const at::Tensor sums = some(all[2]);
    return take(Elements{some(all[0]), some(all[1]), sums, squares, sizes.wander(part, sums),
                         static_cast<double>(taken_)},
                part.start);
  });
}

ProductSlice ProductBound::slice_of(const Elements& elements) {
  const auto data = [](const at::Tensor& all) {
    return all.defined() ? all.data_ptr<double>() : nullptr;
  };
  const bool wide = elements.squares.scalar_type() == at::kDouble;
  return {data(elements.bench),
          data(elements.sums),
          wide ? elements.squares.data_ptr<double>() : nullptr,
          wide ? nullptr : elements.squares.data_ptr<float>(),
          data(elements.wander),
          static_cast<std::size_t>(elements.bench.numel())};
}

Limits ProductBound::same_for_all() const {
  Limits limits = product_limits(type_);
  limits.add(Of::kOne, added_terms() * kFloatSmallest, "n 2^-149");
  limits.spread = 1;  // of what the terms of each element add
  return limits;
}

// What roundings to nearest do to sums.
RoundedNoise ProductBound::rounded_by(const Elements& some) const {
  const double sum_unit = std::sqrt(added_terms()) * type_.accumulator_eps / 2;
  RoundedNoise noise{.of_norm = kOfTerms * sum_unit + (tf32_ ? 8 * kTf32Rounding : 0),
                     .of_sum = kOfSum * sum_unit + (tf32_ ? 2 * kTf32Rounding : 0),
                     .of_added = product_.added.defined() ? type_.eps : 0};
  if (!some.wander.defined()) return noise;
  const at::Tensor shares =
      (some.device.to(at::kDouble) - some.bench).abs_().div_(some.wander * (kOfWander * sum_unit));
  const double* first = shares.data_ptr<double>();
  std::vector<double> used(first, first + shares.numel());
  noise.of_wander = kOfWander * sum_unit * share_of_most(used);
  return noise;
}

CutNoise ProductBound::cut_by(const Elements& some) const {
  const double term_unit = added_terms() * kFloatEps;
  // Few terms show the sizes of all.
  const double straight = kStraight * std::sqrt(static_cast<double>(terms()) / some.taken);
  CutNoise noise{.drift = term_unit,
                 .of_reach = kWalk * term_unit,
                 .of_drift = kMostDrift,
                 .straight = {straight, straight},
                 .straight_wander = kStraight};
  const std::int64_t count = some.bench.numel();
  const at::Tensor error = some.device.to(at::kDouble) - some.bench;
  const at::Tensor room = at::empty({3, count}, at::kDouble);
  auto* drifts = room.data_ptr<double>();
  auto* more = drifts + count;
  auto* goes_straight = more + count;
  cut_room(slice_of(some), noise, drifts, more, goes_straight);
  std::vector<double> used;
  std::vector<double> shares[2];  // of positive sums, and of negative ones
  used.reserve(static_cast<std::size_t>(count));
  const double* errors = error.data_ptr<double>();
  const double* sums = some.sums.data_ptr<double>();
  for (std::int64_t i = 0; i < count; ++i) {
    used.push_back(std::abs(errors[i]) / more[i]);
    if (goes_straight[i] != 0 && std::isfinite(errors[i])) {
      shares[sums[i] < 0 ? 1 : 0].push_back(errors[i] / drifts[i]);
    }
  }
  noise.most = share_of_most(used);
  // Toward zero and down are the same for positive sums, and not for negative ones.
  const double most[2] = {0, kMostDrift};
  for (const int group : {0, 1}) {
    noise.share[group] = std::clamp(lower_median(shares[group]), -kMostDrift, most[group]);
    if (shares[group].empty()) noise.straight[group] = std::numeric_limits<double>::infinity();
  }
  return noise;
}

namespace {

void merge_into(Scan& sum, const Scan& more) {
  sum.count += more.count;
  sum.differ += more.differ;
  sum.beyond += more.beyond;
  sum.not_finite += more.not_finite;
  sum.worst = std::max(sum.worst, more.worst);
  sum.worst_inside = std::max(sum.worst_inside, more.worst_inside);
}

}  // namespace

ProductBound::Scanned ProductBound::scan_rounded(const Elements& elements,
                                                 const RoundedNoise& noise) const {
  Limits limits = same_for_all();
  if (elements.device.scalar_type() == at::kFloat) {
    std::vector<std::int64_t> beyond;
    const FloatScan found =
        scan_rounded_noise(slice_of(elements), elements.device.data_ptr<float>(), noise,
                           float_limits(limits, type_), beyond);
    const Scan all{.count = elements.bench.numel(),
                   .differ = found.differ,
                   .beyond = found.beyond,
                   .worst = found.worst,
                   .worst_inside = found.worst_inside};
    if (found.finite) return {all, std::move(beyond)};
  }
  limits.spreads = at::empty_like(elements.bench);
  rounded_noise(slice_of(elements), noise, limits.spreads.data_ptr<double>());
  const Scan found = scan(elements.device, elements.bench, limits);
  if (found.good()) return {found, {}};
  const at::Tensor beyond = beyond_places(elements.device, elements.bench, limits);
  const auto* first = beyond.data_ptr<std::int64_t>();
  return {found, {first, first + beyond.numel()}};
}

Scan ProductBound::scan_cut(const Elements& elements, const RoundedNoise& rounded,
                            const CutNoise& noise) const {
  Limits limits = same_for_all();
  limits.spreads = at::empty_like(elements.bench);
  limits.drifts = at::empty_like(elements.bench);
  cut_noise(slice_of(elements), rounded, noise, limits.spreads.data_ptr<double>(),
            limits.drifts.data_ptr<double>());
  return scan(elements.device, elements.bench, limits);
}

at::Tensor ProductBound::squares_at(const at::Tensor& places) const {
  const at::Tensor& left = product_.left;
  const std::int64_t rows = left.size(-2);
  const std::int64_t columns = product_.right.size(-1);
  const std::int64_t length = std::max<std::int64_t>(1, kTermsAtOnce / terms());
  std::vector<at::Tensor> squares;
  for (const at::Tensor& some : places.split(length)) {
    const at::Tensor all_rows = some.div(columns, "floor");
    const at::Tensor row = all_rows.remainder(rows);
    const at::Tensor matrix = all_rows.div(rows, "floor");
    const at::Tensor row_factors = left.dim() == 2 ? left.index({row}) : left.index({matrix, row});
    const at::Tensor terms =
        product_.right.columns_at(matrix, some.remainder(columns)).to(at::kDouble);
    squares.push_back((terms * row_factors).square_().sum(-1));
  }
  return at::cat(squares);
}

ProductBound::Elements ProductBound::with_all_terms(const at::Tensor& device,
                                                    const at::Tensor& places,
                                                    const at::Tensor& wander) const {
  const auto at_places = [&](const at::Tensor& all) {
    return all.view({-1}).index_select(0, places);
  };
  return {
      at_places(device),           at_places(bench_), at_places(sums_), squares_at(places), wander,
      static_cast<double>(terms())};
}

std::optional<Scan> ProductBound::scan_rounded(const at::Tensor& device) const {
  const RoundedNoise noise = rounded_by(device);
  const std::int64_t few = taken_ < terms() ? bench_.numel() / kElementsApart : 0;
  Scan found;
  std::vector<std::int64_t> places;
  std::vector<at::Tensor> wander;
  for_elements(device, [&](const Elements& elements, std::int64_t start) {
    const auto [here, beyond] = scan_rounded(elements, noise);
    merge_into(found, here);
    if (found.beyond > few || found.not_finite > 0) return false;
    for (const std::int64_t place : beyond) places.push_back(start + place);
    if (elements.wander.defined() && !beyond.empty()) {
      wander.push_back(elements.wander.index_select(0, at::tensor(beyond, at::kLong)));
    }
    return true;
  });
  if (found.good()) return found;
  if (found.beyond > few || found.not_finite > 0) return std::nullopt;
  const Elements apart = with_all_terms(device, at::tensor(places, at::kLong),
                                        wander.empty() ? at::Tensor() : at::cat(wander));
  const Scan rest = scan_rounded(apart, noise).found;
  if (!rest.good()) return std::nullopt;
  found.worst_inside = std::max(found.worst_inside, rest.worst_inside);
  found.beyond = 0;
  found.worst = 0;
  return found;
}

Scan ProductBound::scan_cut(const at::Tensor& device) const {
  const Elements some = some_of(device, kSampledForMost);
  const RoundedNoise rounded = rounded_by(some);
  const CutNoise noise = cut_by(some);
  Scan found;
  for_elements(device, [&](const Elements& elements, std::int64_t) {
    merge_into(found, scan_cut(elements, rounded, noise));
    return found.good();
  });
  return found;
}

Limits ProductBound::rounded(const at::Tensor& device) const {
  const RoundedNoise noise = rounded_by(device);
  Limits limits = same_for_all();
  limits.spreads = at::empty_like(bench_);
  for_elements(device, [&](const Elements& elements, std::int64_t start) {
    rounded_noise(slice_of(elements), noise, limits.spreads.data_ptr<double>() + start);
    return true;
  });
  return limits;
}

Limits ProductBound::cut(const at::Tensor& device) const {
  const Elements some = some_of(device, kSampledForMost);
  const RoundedNoise noise = rounded_by(some);
  const CutNoise by_unit = cut_by(some);
  Limits limits = same_for_all();
  limits.spreads = at::empty_like(bench_);
  limits.drifts = at::empty_like(bench_);
  for_elements(device, [&](const Elements& elements, std::int64_t start) {
    cut_noise(slice_of(elements), noise, by_unit, limits.spreads.data_ptr<double>() + start,
              limits.drifts.data_ptr<double>() + start);
    return true;
  });
  return limits;
}

Limits ProductBound::explained(const at::Tensor& device, Arithmetic how) const {
  const at::Tensor by_rounding = rounded(device).spreads;
  Limits limits = how == Arithmetic::kCut ? cut(device) : rounded(device);
  const auto add = [&](std::string_view formula, double coefficient, const at::Tensor& sizes) {
    limits.terms.push_back({formula, Of::kSizes, coefficient, sizes});
  };
  const ProductTerms sizes(product_, taken_, walked_, summing_type());
  const at::Tensor sums = sums_.view({-1});
  const at::Tensor norms = sizes.squares(sizes.all()).to(at::kDouble).sqrt();
  const double sum_unit = std::sqrt(added_terms()) * type_.accumulator_eps / 2;
  add("sqrt(n) u_a 2 |S|", kOfSum * sum_unit, sums.abs());
  add(taken_ < terms() ? "sqrt(n) u_a 4 N (N of some terms)" : "sqrt(n) u_a 4 N",
      kOfTerms * sum_unit, norms);
  if (product_.added.defined()) add("eps |added|", type_.eps, (bench_ - sums_).view({-1}).abs());
  if (tf32_) {
    add("2^-10 |S|", 2 * kTf32Rounding, sums.abs());
    add("2^-8 N", 8 * kTf32Rounding, norms);
  }
  if (const at::Tensor wander = sizes.wander(sizes.all(), sums); wander.defined()) {
    add("sqrt(n) u_a 4 W m", rounded_by(device).of_wander, wander);
  }
  if (how == Arithmetic::kCut) {
    add("m n 2^-23 (2 N + 2 P), or 2 k n 2^-23 N", 1, (limits.spreads - by_rounding).view({-1}));
  }
  return limits;
}

}  // namespace msprobe::strict
