// SPDX-License-Identifier: Apache-2.0
// Which of its bounds explains a product: the cheap ones are tried first.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "strict/lost_terms.h"
#include "strict/product_bound.h"
#include "strict/round_bits.h"

namespace msprobe::strict {
namespace {

// One term in so many is looked at first, and at least so many.
constexpr std::int64_t kPartOfTerms = 8;
constexpr std::int64_t kFewTerms = 8;
// A computed hypothesis fits when it leaves less than this share of the error.
constexpr double kLeft = 0.5;
// Of few elements, it may fit when it leaves less than this.
constexpr double kLeftByFew = 0.8;
// Sums that drift look much like sums without their last terms, but not as much as that.
constexpr double kLeftByLoss = 0.05;
constexpr int kTf32Bits = 10;
// So many elements tell whether factors were rounded.
constexpr std::int64_t kSampledForFactors = 1 << 9;
// So many tell that they were not.
constexpr std::int64_t kSampledFirstForFactors = 1 << 5;
// So many show which bound may hold.
constexpr std::int64_t kSampledForPromise = 1 << 11;

double size_of(const at::Tensor& values) {
  return std::sqrt(values.square().nan_to_num(0, 0, 0).mean().item<double>());
}

}  // namespace

std::optional<Scan> ProductBound::scan_some_terms(const at::Tensor& device) {
  take_terms(std::min(terms(), std::max(kFewTerms, terms() / kPartOfTerms)));
  return scan_rounded(device);
}

Arithmetic ProductBound::promise(const at::Tensor& device, bool may_cut) const {
  const Sample sample = sample_of(product_, kSampledForPromise, looked_at());
  const Elements some = elements_of(sample, device);
  const RoundedNoise noise = rounded_by(some);
  const std::int64_t few = some.bench.numel() / kElementsApart;
  const auto [found, beyond] = scan_rounded(some, noise);
  if (found.good()) return Arithmetic::kRounded;
  if (found.beyond <= few) {
    const at::Tensor few_of_them = at::tensor(beyond, at::kLong);
    const Elements apart = with_all_terms(
        device, sample.places_of(few_of_them),
        some.wander.defined() ? some.wander.index_select(0, few_of_them) : at::Tensor());
    if (scan_rounded(apart, noise).found.good()) return Arithmetic::kRounded;
  }
  return may_cut && scan_cut(some, noise, cut_by(some)).good() ? Arithmetic::kCut
                                                               : Arithmetic::kUnexplained;
}

bool ProductBound::factors_explain(const at::Tensor& device, std::int64_t elements,
                                   double left_share) const {
  const Sample sample = sample_of(product_, elements);
  const double doubt = left_share / kLeft;  // few elements show sizes less exactly
  const ProductTerms sizes({sample.left, sample.right, {}}, terms(), 0, summing_type());
  const at::Tensor wrong = sample.of(device).to(at::kDouble) - sample.of(bench_);
  const at::Tensor norms = sizes.squares(sizes.all()).to(at::kDouble).sqrt_().view(wrong.sizes());
  const double whole = size_of(wrong / norms);
  for (const int bits : {11, 10, 7}) {
    // Two factors, each moved by up to half a unit.
    const double expected = std::sqrt(2.0 / 3) * std::ldexp(1.0, -bits - 1);
    const bool narrow = type_.eps >= std::ldexp(1.0, -bits) || (tf32_ && bits >= kTf32Bits);
    if (narrow || whole * doubt < expected / 2 || whole > expected * 2 * doubt) continue;
    const at::Tensor left = kept_bits(sample.left.to(at::kDouble), bits);
    const at::Tensor right = kept_bits(sample.right.to(at::kDouble), bits);
    const at::Tensor moved = at::matmul(left, right) - sample.of(sums_);
    if (size_of((wrong - moved) / norms) < left_share * whole) return true;
  }
  return false;
}

bool ProductBound::has_faulty_terms(const at::Tensor& device) const {
  if (factors_explain(device, kSampledFirstForFactors, kLeftByFew) &&
      factors_explain(device, kSampledForFactors, kLeft)) {
    return true;
  }
  return lost_terms(product_, device, bench_).left < kLeftByLoss;
}

Explanation ProductBound::explain(const at::Tensor& device, bool may_cut) {
  Explanation last;
  bool faulty = false;
  const auto is_rounded = [&] {
    const auto found = scan_rounded(device);
    if (found) last = {Arithmetic::kRounded, {}, *found};
    return found.has_value();
  };
  const auto is_cut = [&] {
    if (!may_cut || faulty) return false;
    const Scan found = scan_cut(device);
    if (!found.good()) return false;
    faulty = has_faulty_terms(device);
    if (!faulty) last = {Arithmetic::kCut, {}, found};
    return !faulty;
  };
  const std::int64_t some = std::min(terms(), std::max(kFewTerms, terms() / kPartOfTerms));
  std::int64_t seen = 0;  // terms whose sizes a bound was tried with
  const auto passes_with = [&](std::int64_t taken, std::int64_t walked) {
    take_terms(taken);
    walk_sums(walked);
    // Where sums are rounded, few terms are likely to be enough.
    const bool likely = !may_cut && taken == some && walked == 0;
    const Arithmetic expected = likely ? Arithmetic::kRounded : promise(device, may_cut && !faulty);
    if (expected == Arithmetic::kUnexplained) return false;
    seen = taken;
    return expected == Arithmetic::kRounded ? is_rounded() || is_cut() : is_cut();
  };
  // Some terms at first: that costs little, and is enough for most results.
  for (const std::int64_t taken : {some, terms()}) {
    if (passes_with(taken, 0)) return last;
  }
  for (const std::int64_t parts : {ProductTerms::kParts / 2, ProductTerms::kParts}) {
    if (!faulty && passes_with(std::max(some, seen), parts)) return last;
  }
  // Nothing is left out at last.
  take_terms(terms());
  for (const std::int64_t parts : {std::int64_t{0}, ProductTerms::kParts}) {
    walk_sums(parts);
    if (is_rounded() || is_cut()) return last;
    if (faulty) break;
  }
  if (restart_in_double()) return explain(device, may_cut);
  last.limits = rounded(device);
  last.found = scan(device, bench_, last.limits);
  return last;
}

}  // namespace msprobe::strict
