// SPDX-License-Identifier: Apache-2.0
#include "strict/lost_terms.h"

#include <algorithm>
#include <cmath>

#include "strict/sample.h"

namespace msprobe::strict {
namespace {

// A block of terms that a kernel may leave out.
constexpr std::int64_t kMostLost = 64;
// It fits when it leaves less than this share of the error.
constexpr double kMostLeft = 0.3;
// So many elements tell. All of a large result would cost as much as the product itself.
constexpr std::int64_t kSampled = 1 << 12;
// So many tell whether it is worth while to ask those.
constexpr std::int64_t kSampledFirst = 1 << 8;

// So many terms are looked at together, and they are told apart from here on.
constexpr std::int64_t kMostTogether = 512;
constexpr double kToldApart = 1e-9;

double root_mean_square(const at::Tensor& values) {
  return std::sqrt(values.square().nan_to_num(0, 0, 0).mean().item<double>());
}

// The share of each term in the error: -1 of one that was left out, about 0 of the others. Terms
// that are alike share in the same error, so that all shares are found together, by least squares;
// of very many terms, each one apart.
at::Tensor shares(const Product& wide, const at::Tensor& error) {
  const std::int64_t terms = wide.left.size(-1);
  const at::Tensor parts = (at::matmul(error, wide.right.all().mT()) * wide.left).sum(-2);
  const at::Tensor of_error = parts.reshape({-1, terms}).sum(0);
  if (terms > kMostTogether || error.numel() < terms) {
    const at::Tensor sizes =
        wide.left.square().sum(-2, true) * wide.right.all().square().sum(-1, true).mT();
    return of_error / sizes.reshape({-1, terms}).sum(0);
  }
  const at::Tensor alike =
      at::matmul(wide.left.mT(), wide.left) * at::matmul(wide.right.all(), wide.right.all().mT());
  const at::Tensor together = alike.reshape({-1, terms, terms}).sum(0);
  const at::Tensor sizes = together.diagonal().sqrt();
  const at::Tensor usual = together / sizes.outer(sizes);  // terms of very different sizes
  const at::Tensor inverse =
      at::linalg_pinv(usual.nan_to_num(0, 0, 0), kToldApart, /*hermitian=*/true);
  return at::mv(inverse, (of_error / sizes).nan_to_num(0, 0, 0)) / sizes;
}

// `whole`: the error of these elements.
LostTerms lost_of(const Sample& sample, const at::Tensor& whole) {
  const std::int64_t terms = sample.left.size(-1);
  const std::int64_t tail = std::min(terms - 1, kMostLost);
  const at::Tensor left = sample.left.narrow(-1, terms - tail, tail).to(at::kDouble);
  const at::Tensor right = sample.right.narrow(-2, terms - tail, tail).to(at::kDouble);
  // What is left of the error if so many of the last terms are missing: (elements, lost).
  const at::Tensor each = left.unsqueeze(-2) * right.mT().unsqueeze(-3);
  const at::Tensor rest = each.flip(-1).cumsum(-1).add_(whole.unsqueeze(-1));
  const at::Tensor sizes = rest.square_().nan_to_num_(0, 0, 0).reshape({-1, tail}).mean(0).sqrt_();
  const auto [least, place] = sizes.min(0);
  const double share = least.item<double>() / root_mean_square(whole);
  return share < kMostLeft ? LostTerms{place.item<std::int64_t>() + 1, share} : LostTerms{};
}

bool has_terms(const Product& product, const at::Tensor& result) {
  return c10::multiply_integers(shape_of(product)) == result.numel() && product.left.size(-1) > 1;
}

}  // namespace

LostTerms lost_terms(const Product& product, const at::Tensor& error) {
  if (!has_terms(product, error)) return {};
  const Sample sample = sample_of(product, kSampled);
  return lost_of(sample, sample.of(error).to(at::kDouble));
}

LostTerms lost_terms(const Product& product, const at::Tensor& device, const at::Tensor& bench) {
  if (!has_terms(product, bench)) return {};
  LostTerms lost;
  for (const std::int64_t elements : {kSampledFirst, kSampled}) {
    const Sample sample = sample_of(product, elements);
    lost = lost_of(sample, sample.of(device).to(at::kDouble) - sample.of(bench));
    if (lost.count == 0 || bench.numel() <= elements) break;
  }
  return lost;
}

LostTerms scattered_lost_terms(const Product& product, const at::Tensor& error) {
  const std::vector<std::int64_t> shape = shape_of(product);
  if (c10::multiply_integers(shape) != error.numel()) return {};
  const Product wide = in_double(product);
  const at::Tensor all = error.reshape(shape).to(at::kDouble).nan_to_num(0, 0, 0);
  const std::int64_t terms = wide.left.size(-1);
  const at::Tensor share = shares(wide, all);
  const at::Tensor lost = share.lt(-0.5).nonzero().flatten();
  if (lost.numel() == 0 || lost.numel() > terms / 2) return {};
  const at::Tensor rest =
      all + at::matmul(wide.left.index_select(-1, lost), wide.right.all().index_select(-2, lost));
  const double left = root_mean_square(rest) / root_mean_square(all);
  return left < kMostLeft ? LostTerms{lost.numel(), left} : LostTerms{};
}

}  // namespace msprobe::strict
