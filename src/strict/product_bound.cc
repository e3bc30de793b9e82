// SPDX-License-Identifier: Apache-2.0
#include "strict/product_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ATen/TensorIndexing.h>

#include "strict/bound.h"
#include "strict/sample.h"

namespace msprobe::strict {
namespace {

// So many numbers of both factors are converted at once, or as many as the result has.
constexpr std::int64_t kPartElements = 1 << 15;
// So many elements are judged at once: what their limits are made of stays in the cache.
constexpr std::int64_t kSliceElements = 1 << 14;
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
  for_parts(taken_, until, summing_type(), [&](const Product& part) {
    const at::Tensor more =
        at::matmul(part.left.square(), part.right.square()).view(bench_.sizes());
    squares_ = squares_.defined() ? squares_.add_(more) : more.to(at::kDouble);
  });
  if (!squares_.defined()) squares_ = at::zeros_like(bench_);
  taken_ = until;
}

bool ProductBound::restart_in_double() {
  if (in_double_ || (squares_fit(product_.left, -1) && squares_fit(product_.right, -2))) {
    return false;
  }
  in_double_ = true;
  taken_ = 0;
  walked_ = 0;
  squares_ = reached_ = wander_ = at::Tensor();
  return true;
}

ProductBound::Elements ProductBound::all_of(const at::Tensor& device) const {
  const auto flat = [](const at::Tensor& all) { return all.defined() ? all.flatten() : all; };
  return {flat(device),   flat(bench_),  flat(sums_),
          flat(squares_), flat(wander_), static_cast<double>(taken_)};
}

ProductBound::Elements ProductBound::some_of(const Elements& all, std::int64_t step) {
  if (step == 1) return all;
  const auto some = [&](const at::Tensor& every) {
    return every.defined() ? every.slice(0, 0, every.numel(), step).contiguous() : every;
  };
  return {some(all.device),  some(all.bench),  some(all.sums),
          some(all.squares), some(all.wander), all.taken};
}

ProductBound::Elements ProductBound::some_of(const Elements& all) {
  return some_of(all, sampling_step(all.bench.numel()));
}

ProductSlice ProductBound::slice_of(const Elements& elements, std::int64_t start,
                                    std::int64_t length) {
  const auto from = [&](const at::Tensor& all) {
    return all.defined() ? all.data_ptr<double>() + start : nullptr;
  };
  return {from(elements.bench), from(elements.sums), from(elements.squares), from(elements.wander),
          static_cast<std::size_t>(length)};
}

Limits ProductBound::same_for_all() const {
  Limits limits = product_limits(type_);
  limits.absolute += static_cast<double>(terms()) * kFloatSmallest;
  limits.spread = 1;
  return limits;
}

// What roundings to nearest do to sums.
RoundedNoise ProductBound::rounded_by(const Elements& some) const {
  const double sum_unit = std::sqrt(static_cast<double>(terms())) * type_.accumulator_eps / 2;
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
  const double term_unit = static_cast<double>(terms()) * kFloatEps;
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
  cut_room(slice_of(some, 0, count), noise, drifts, more, goes_straight);
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

// Calls judge(start, length) for slices of elements until it gives false.
void for_slices(std::int64_t count, const auto& judge) {
  for (std::int64_t start = 0; start < count; start += kSliceElements) {
    if (!judge(start, std::min(kSliceElements, count - start))) return;
  }
}

void merge_into(Scan& sum, const Scan& more) {
  sum.differ += more.differ;
  sum.beyond += more.beyond;
  sum.not_finite += more.not_finite;
  sum.worst = std::max(sum.worst, more.worst);
  sum.worst_inside = std::max(sum.worst_inside, more.worst_inside);
}

}  // namespace

Scan ProductBound::scan_rounded(const Elements& elements, const Elements& some, std::int64_t most,
                                std::vector<at::Tensor>* places) const {
  const RoundedNoise noise = rounded_by(some);
  const std::int64_t count = elements.bench.numel();
  const at::Tensor room = at::empty({std::min(count, kSliceElements)}, at::kDouble);
  Limits limits = same_for_all();
  Scan found{.count = count};
  for_slices(count, [&](std::int64_t start, std::int64_t length) {
    limits.spreads = room.narrow(0, 0, length);
    rounded_noise(slice_of(elements, start, length), noise, room.data_ptr<double>());
    const at::Tensor device = elements.device.narrow(0, start, length);
    const at::Tensor bench = elements.bench.narrow(0, start, length);
    const Scan here = scan(device, bench, limits);
    merge_into(found, here);
    if (found.beyond > most) return false;
    if (places != nullptr && !here.good()) {
      places->push_back(beyond_mask(device, bench, limits).nonzero().flatten().add_(start));
    }
    return true;
  });
  return found;
}

Scan ProductBound::scan_cut(const Elements& elements, const Elements& some) const {
  const RoundedNoise rounded = rounded_by(some);
  const CutNoise noise = cut_by(some);
  const std::int64_t count = elements.bench.numel();
  const at::Tensor room = at::empty({2, std::min(count, kSliceElements)}, at::kDouble);
  const at::Tensor spreads = room[0];
  const at::Tensor drifts = room[1];
  Limits limits = same_for_all();
  Scan found{.count = count};
  for_slices(count, [&](std::int64_t start, std::int64_t length) {
    limits.spreads = spreads.narrow(0, 0, length);
    limits.drifts = drifts.narrow(0, 0, length);
    cut_noise(slice_of(elements, start, length), rounded, noise, spreads.data_ptr<double>(),
              drifts.data_ptr<double>());
    merge_into(found, scan(elements.device.narrow(0, start, length),
                           elements.bench.narrow(0, start, length), limits));
    return found.good();
  });
  return found;
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

std::optional<Scan> ProductBound::scan_rounded(const at::Tensor& device) const {
  const Elements all = all_of(device);
  const Elements some = some_of(all);
  const std::int64_t few = taken_ < terms() ? bench_.numel() / kElementsApart : 0;
  std::vector<at::Tensor> beyond;
  Scan found = scan_rounded(all, some, few, &beyond);
  if (found.good()) return found;
  if (found.not_finite > 0 || found.beyond > few) return std::nullopt;
  const at::Tensor places = at::cat(beyond);
  const auto at_places = [&](const at::Tensor& every) {
    return every.defined() ? every.index_select(0, places) : every;
  };
  const Elements apart{at_places(all.device), at_places(all.bench),
                       at_places(all.sums),   norms_at(places).square_(),
                       at_places(all.wander), static_cast<double>(terms())};
  const Scan rest = scan_rounded(apart, some, 0);
  if (!rest.good()) return std::nullopt;
  found.beyond = 0;
  found.worst = 0;
  found.worst_inside = std::max(found.worst_inside, rest.worst_inside);
  return found;
}

Limits ProductBound::rounded(const at::Tensor& device) const {
  const Elements all = all_of(device);
  Limits limits = same_for_all();
  limits.spreads = at::empty_like(bench_);
  rounded_noise(slice_of(all, 0, bench_.numel()), rounded_by(some_of(all)),
                limits.spreads.data_ptr<double>());
  return limits;
}

Limits ProductBound::cut(const at::Tensor& device) const {
  const Elements all = all_of(device);
  const Elements some = some_of(all);
  Limits limits = same_for_all();
  limits.spreads = at::empty_like(bench_);
  limits.drifts = at::empty_like(bench_);
  cut_noise(slice_of(all, 0, bench_.numel()), rounded_by(some), cut_by(some),
            limits.spreads.data_ptr<double>(), limits.drifts.data_ptr<double>());
  return limits;
}

void ProductBound::walk_sums() { walk_sums(kParts); }

void ProductBound::walk_sums(std::int64_t parts) {
  if (!reached_.defined()) {
    reached_ = at::zeros_like(sums_);
    wander_ = at::zeros_like(sums_);
  }
  std::int64_t start = terms() * walked_ / kParts;
  while (walked_ < parts) {
    const std::int64_t end = terms() * ++walked_ / kParts;
    if (end == start) continue;
    for_parts(start, end, summing_type(), [&](const Product& part) {
      reached_ += at::matmul(part.left, part.right).view(sums_.sizes());
    });
    widen_wander(reached_.data_ptr<double>(), sums_.data_ptr<double>(),
                 static_cast<double>(end) / static_cast<double>(terms()),
                 wander_.data_ptr<double>(), static_cast<std::size_t>(sums_.numel()));
    start = end;
  }
}

}  // namespace msprobe::strict
