// SPDX-License-Identifier: Apache-2.0
#include "strict/lost_terms.h"

#include <algorithm>
#include <cmath>

#include "strict/float_type.h"
#include "strict/sample.h"

namespace msprobe::strict {
namespace {

// Largest number of last terms that a kernel may leave out.
constexpr std::int64_t kMostLost = 64;
// Number of elements to look at. All of a large result would cost as much as the product itself.
constexpr std::int64_t kSampled = 1 << 12;

// `whole`: the error of these elements.
LostTerms lost_of(const Sample& sample, const at::Tensor& whole) {
  const std::int64_t terms = sample.left.size(-1);
  const std::int64_t tail = std::min(terms - 1, kMostLost);
  const at::Tensor left = sample.left.narrow(-1, terms - tail, tail).to(at::kDouble);
  const at::Tensor right = sample.right.narrow(-2, terms - tail, tail).to(at::kDouble);
  // The rest of the error if the last 1, 2, ... terms are missing: (elements, lost).
  const at::Tensor each = left.unsqueeze(-2) * right.mT().unsqueeze(-3);
  const at::Tensor rest = each.flip(-1).cumsum(-1).add_(whole.unsqueeze(-1));
  const at::Tensor sizes = rest.square_().nan_to_num_(0, 0, 0).reshape({-1, tail}).mean(0).sqrt_();
  const auto [least, place] = sizes.min(0);
  const double share = least.item<double>() / root_mean_square(whole);
  return share < kMostLeft ? LostTerms{place.item<std::int64_t>() + 1, share} : LostTerms{};
}

}  // namespace

LostTerms lost_terms(const Product& product, const at::Tensor& device, const at::Tensor& bench) {
  const bool fits = c10::multiply_integers(shape_of(product)) == bench.numel();
  if (!fits || product.left.size(-1) < 2) return {};
  const Sample sample = sample_of(product, kSampled);
  return lost_of(sample, sample.of(device).to(at::kDouble) - sample.of(bench).to(at::kDouble));
}

}  // namespace msprobe::strict
