// SPDX-License-Identifier: Apache-2.0
#include "strict/product_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "strict/bound.h"
#include "strict/lost_terms.h"
#include "strict/round_bits.h"

namespace msprobe::strict {
namespace {

// The first step takes one term in kPartOfTerms, and at least kFewTerms.
constexpr std::int64_t kPartOfTerms = 8;
constexpr std::int64_t kFewTerms = 8;
// Number of elements that are judged at once: what their limits are made of stays in the cache.
constexpr std::int64_t kAtOnce = 1 << 17;
// If some terms do not explain at most one element in kElementsApart, all terms of these are taken,
// this many at once.
constexpr std::int64_t kElementsApart = 1024;
constexpr std::int64_t kTermsAtOnce = 1 << 18;
// Deviations of partial sums off the straight line, as kSumOfTerms of bound.h.
constexpr double kSumOfWander = 4;
// A sum of at least this many norms runs straight to where it ends.
constexpr double kStraight = 8;
// A rounding to TF32 moves a factor by at most this.
constexpr double kTf32Rounding = 0x1p-11;
constexpr int kTf32Bits = 10;
// Whether factors were rounded is asked of a few elements first, then of many. It fits when it
// leaves less than this share of the error.
constexpr std::int64_t kFewForFactors = 1 << 5;
constexpr std::int64_t kManyForFactors = 1 << 9;
constexpr double kLeftFirst = 0.8;
constexpr double kLeft = 0.5;
// Sums that drift look much like sums without their last terms, but not as much as that.
constexpr double kLeftByLoss = 0.05;

// Whether float32 holds products of squares of the numbers that count: the largest of each row or
// column. Squares are of one sign, so that float32 sums them well enough.
bool squares_fit(const at::Tensor& factor, std::int64_t dim) {
  constexpr double kLeast = 1e-8;
  constexpr double kMost = 1e8;
  if (factor.scalar_type() == at::kDouble || factor.numel() == 0) return false;
  const at::Tensor tops = factor.to(at::kFloat).abs().amax(dim);
  return tops.eq(0).logical_or(tops.ge(kLeast).logical_and(tops.le(kMost))).all().item<bool>();
}

// The share by which straight sums of one sign drift: that of the one in the middle.
double middle_share(const at::Tensor& shares, double most) {
  const double middle = shares.numel() == 0 ? 0 : shares.median().item<double>();
  return std::clamp(middle, -kMostDrift, most);
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

double ProductBound::sum_unit() const {
  return std::sqrt(added_terms()) * type_.accumulator_eps / 2;
}

ProductElements ProductBound::sample(const at::Tensor& device) const {
  const Sample chosen = sample_of(product_, kSampledForMost, walks_ ? terms() : taken_);
  const auto some = [&](const at::Tensor& all) { return chosen.of(all).contiguous().view({-1}); };
  const ProductTerms sizes({chosen.left, chosen.right, {}}, taken_, walks_, summing_type());
  const at::Tensor sums = some(sums_);
  return {some(device),
          some(bench_),
          sums,
          sizes.norms(sizes.all()),
          sizes.wander(sizes.all(), sums),
          static_cast<double>(taken_)};
}

void ProductBound::for_elements(const at::Tensor& device, const auto& take) const {
  const ProductTerms sizes(product_, taken_, walks_, summing_type());
  const at::Tensor all[] = {device.view({-1}), bench_.view({-1}), sums_.view({-1})};
  sizes.for_parts(kAtOnce, [&](const ProductPart& part) {
    const at::Tensor norms = sizes.norms(part);
    const auto some = [&](const at::Tensor& every) {
      return every.narrow(0, part.start, norms.numel());
    };
    const at::Tensor sums = some(all[2]);
    return take(ProductElements{some(all[0]), some(all[1]), sums, norms, sizes.wander(part, sums),
                                static_cast<double>(taken_)},
                part.start);
  });
}

Limits ProductBound::same_for_all() const {
  Limits limits = product_limits(type_);
  limits.add(Of::kOne, added_terms() * kFloatSmallest, "n 2^-149");
  limits.spread = 1;  // of what the terms of each element add
  return limits;
}

// What roundings to nearest do to sums.
RoundedNoise ProductBound::rounded_by(const ProductElements& some) const {
  RoundedNoise noise{.of_norm = kSumOfTerms * sum_unit() + (tf32_ ? 8 * kTf32Rounding : 0),
                     .of_sum = kSumOfResult * sum_unit() + (tf32_ ? 2 * kTf32Rounding : 0),
                     .of_added = product_.added.defined() ? type_.eps : 0};
  if (!some.wander.defined()) return noise;
  const double most = kSumOfWander * sum_unit();
  noise.of_wander =
      most * share_of_most(some.device.to(at::kDouble) - some.bench, some.wander * most);
  return noise;
}

CutNoise ProductBound::cut_by(const ProductElements& some) const {
  const double term_unit = added_terms() * kFloatEps;
  // Few terms show the sizes of all.
  const double straight = kStraight * std::sqrt(static_cast<double>(terms()) / some.taken);
  CutNoise noise{.drift = term_unit,
                 .of_reach = kWalk * term_unit,
                 .of_drift = kMostDrift,
                 .straight = {straight, straight},
                 .straight_wander = kStraight};
  const CutRoom room = cut_room(some, noise);
  const at::Tensor error = some.device.to(at::kDouble) - some.bench;
  noise.most = share_of_most(error, room.more);
  // Toward zero and down are the same for positive sums, and not for negative ones.
  const double most[2] = {0, kMostDrift};
  const at::Tensor counts = room.straight.logical_and(error.isfinite());
  for (const int group : {0, 1}) {
    const at::Tensor of_sign = group == 0 ? some.sums.ge(0) : some.sums.lt(0);
    const at::Tensor shares = (error / room.drifts).masked_select(counts.logical_and(of_sign));
    noise.share[group] = middle_share(shares, most[group]);
    if (shares.numel() == 0) noise.straight[group] = std::numeric_limits<double>::infinity();
  }
  return noise;
}

ProductBound::Noise ProductBound::noise_of(const at::Tensor& device, Arithmetic how) const {
  if (how != Arithmetic::kCut && !walks_) return {rounded_by({}), std::nullopt};
  const ProductElements some = sample(device);
  return {rounded_by(some), how == Arithmetic::kCut ? std::optional(cut_by(some)) : std::nullopt};
}

Limits ProductBound::limits_of(const ProductElements& elements, const Noise& noise) const {
  Limits limits = same_for_all();
  if (!noise.cut && !product_.added.defined() && !elements.wander.defined()) {
    limits.relative += noise.rounded.of_sum;  // S is b
    limits.spread = noise.rounded.of_norm;
    limits.spreads = elements.norms;
    return limits;
  }
  limits.spreads = rounded_noise(elements, noise.rounded);
  if (!noise.cut) return limits;
  const Drift drift = cut_noise(elements, *noise.cut);
  limits.spreads += drift.noise;
  limits.drifts = drift.drifts;
  return limits;
}

Limits ProductBound::limits(const at::Tensor& device, Arithmetic how) const {
  const Noise noise = noise_of(device, how);
  Limits all = same_for_all();
  all.spreads = at::empty({bench_.numel()}, at::kDouble);
  if (noise.cut) all.drifts = at::empty_like(all.spreads);
  for_elements(device, [&](const ProductElements& elements, std::int64_t start) {
    const Limits some = limits_of(elements, noise);
    all.relative = some.relative;
    all.spread = some.spread;
    all.spreads.narrow(0, start, some.spreads.numel()).copy_(some.spreads);
    if (noise.cut) all.drifts.narrow(0, start, some.drifts.numel()).copy_(some.drifts);
    return true;
  });
  return all;
}

ProductElements ProductBound::with_all_terms(const at::Tensor& device,
                                             const at::Tensor& places) const {
  const at::Tensor& left = product_.left;
  const std::int64_t rows = left.size(-2);
  const std::int64_t columns = product_.right.size(-1);
  std::vector<at::Tensor> norms;
  for (const at::Tensor& some : places.split(std::max<std::int64_t>(1, kTermsAtOnce / terms()))) {
    const at::Tensor all_rows = some.div(columns, "floor");
    const at::Tensor row = all_rows.remainder(rows);
    const at::Tensor matrix = all_rows.div(rows, "floor");
    const at::Tensor row_factors = left.dim() == 2 ? left.index({row}) : left.index({matrix, row});
    const at::Tensor column_factors =
        product_.right.columns_at(matrix, some.remainder(columns)).to(at::kDouble);
    norms.push_back((column_factors * row_factors).square_().sum(-1).sqrt_());
  }
  const auto there = [&](const at::Tensor& all) { return all.view({-1}).index_select(0, places); };
  return {
      there(device), there(bench_), there(sums_), at::cat(norms), {}, static_cast<double>(terms())};
}

Scan ProductBound::scan_all(const at::Tensor& device, Arithmetic how) const {
  const Noise noise = noise_of(device, how);
  const bool some_terms = how == Arithmetic::kRounded && taken_ < terms();
  const std::int64_t few = some_terms ? bench_.numel() / kElementsApart : 0;
  Scan found;
  std::vector<at::Tensor> places;
  for_elements(device, [&](const ProductElements& elements, std::int64_t start) {
    const Limits limits = limits_of(elements, noise);
    const Scan here = scan(elements.device, elements.bench, limits);
    found.add(here);
    if (found.beyond > few || found.not_finite > 0) return false;
    if (here.good()) return true;
    const at::Tensor beyond = beyond_mask(elements.device, elements.bench, limits);
    places.push_back(beyond.nonzero().flatten().add_(start));
    return true;
  });
  if (found.good() || found.beyond > few || found.not_finite > 0) return found;
  const ProductElements apart = with_all_terms(device, at::cat(places));
  const Scan rest = scan(apart.device, apart.bench, limits_of(apart, noise));
  if (!rest.good()) return found;
  found.beyond = 0;
  found.worst = 0;
  found.worst_inside = std::max(found.worst_inside, rest.worst_inside);
  return found;
}

Explanation ProductBound::explain(const at::Tensor& device, bool may_cut) {
  struct Level {
    std::int64_t taken;
    bool walks;
  };
  // Some terms at first: that costs little, and is enough for most results.
  const std::int64_t some = std::min(terms(), std::max(kFewTerms, terms() / kPartOfTerms));
  bool faulty = false;
  const Level levels[] = {{some, false}, {terms(), false}, {terms(), true}};
  for (const auto& [taken, walks] : levels) {
    if (faulty && walks) break;
    take_terms(taken);
    walk_sums(walks);
    const Scan rounded = scan_all(device, Arithmetic::kRounded);
    if (rounded.good()) return {Arithmetic::kRounded, {}, rounded};
    if (!may_cut || faulty) continue;
    const Scan cut = scan_all(device, Arithmetic::kCut);
    if (!cut.good()) continue;
    faulty = has_faulty_terms(device);
    if (!faulty) return {Arithmetic::kCut, {}, cut};
  }
  if (restart_in_double()) return explain(device, may_cut);
  const Limits limits = rounded(device);
  return {Arithmetic::kUnexplained, limits, scan(device, bench_, limits)};
}

Limits ProductBound::explained(const at::Tensor& device, Arithmetic how) const {
  const bool cuts = how == Arithmetic::kCut;
  Limits limits = cuts ? cut(device) : rounded(device);
  const Noise noise = noise_of(device, cuts ? how : Arithmetic::kRounded);
  const auto add = [&](std::string_view formula, double coefficient, const at::Tensor& sizes) {
    limits.terms.push_back({formula, Of::kSizes, coefficient, sizes});
  };
  const ProductTerms sizes(product_, taken_, walks_, summing_type());
  const at::Tensor sums = sums_.view({-1});
  const at::Tensor norms = sizes.norms(sizes.all());
  add("sqrt(n) u_a 2 |S|", kSumOfResult * sum_unit(), sums.abs());
  add(taken_ < terms() ? "sqrt(n) u_a 4 N (N of some terms)" : "sqrt(n) u_a 4 N",
      kSumOfTerms * sum_unit(), norms);
  if (product_.added.defined()) add("eps |added|", type_.eps, (bench_ - sums_).view({-1}).abs());
  if (tf32_) {
    add("2^-10 |S|", 2 * kTf32Rounding, sums.abs());
    add("2^-8 N", 8 * kTf32Rounding, norms);
  }
  const at::Tensor wander = sizes.wander(sizes.all(), sums);
  if (walks_) add("sqrt(n) u_a 4 W m", noise.rounded.of_wander, wander);
  if (cuts) {
    add("m n 2^-23 (2 N + 2 P), or 2 k n 2^-23 N", 1,
        cut_noise({device.view({-1}), bench_.view({-1}), sums, norms, wander, 0}, *noise.cut)
            .noise);
  }
  return limits;
}

bool ProductBound::factors_explain(const at::Tensor& device, std::int64_t elements,
                                   double left_share) const {
  const Sample chosen = sample_of(product_, elements);
  const double doubt = left_share / kLeft;  // few elements show sizes less exactly
  const ProductTerms sizes({chosen.left, chosen.right, {}}, terms(), false, summing_type());
  const at::Tensor wrong = chosen.of(device).to(at::kDouble) - chosen.of(bench_);
  const at::Tensor norms = sizes.norms(sizes.all()).view(wrong.sizes());
  const double whole = root_mean_square(wrong / norms);
  for (const int bits : {11, 10, 7}) {
    // Two factors, each moved by up to half a unit.
    const double expected = std::sqrt(2.0 / 3) * std::ldexp(1.0, -bits - 1);
    const bool narrow = type_.eps >= std::ldexp(1.0, -bits) || (tf32_ && bits >= kTf32Bits);
    if (narrow || whole * doubt < expected / 2 || whole > expected * 2 * doubt) continue;
    const at::Tensor left = kept_bits(chosen.left.to(at::kDouble), bits);
    const at::Tensor right = kept_bits(chosen.right.to(at::kDouble), bits);
    const at::Tensor moved = at::matmul(left, right) - chosen.of(sums_);
    if (root_mean_square((wrong - moved) / norms) < left_share * whole) return true;
  }
  return false;
}

bool ProductBound::has_faulty_terms(const at::Tensor& device) const {
  if (factors_explain(device, kFewForFactors, kLeftFirst) &&
      factors_explain(device, kManyForFactors, kLeft)) {
    return true;
  }
  return lost_terms(product_, device, bench_).left < kLeftByLoss;
}

}  // namespace msprobe::strict
