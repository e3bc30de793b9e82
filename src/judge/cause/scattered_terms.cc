// SPDX-License-Identifier: Apache-2.0
#include "cause/scattered_terms.h"

#include "strict/float_type.h"

namespace msprobe::cause {

using strict::in_double;
using strict::kMostLeft;
using strict::LostTerms;
using strict::Product;
using strict::root_mean_square;
using strict::shape_of;

namespace {

// Largest number of terms of one least-squares fit; smaller singular values than this are dropped.
constexpr std::int64_t kMostTogether = 512;
constexpr double kToldApart = 1e-9;

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

}  // namespace

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

}  // namespace msprobe::cause
