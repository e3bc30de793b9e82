// SPDX-License-Identifier: Apache-2.0
#include "strict/lost_terms.h"

#include <algorithm>
#include <cmath>

namespace msprobe::strict {
namespace {

// A block of terms that a kernel may leave out.
constexpr std::int64_t kMostLost = 64;
// It fits when it leaves less than this share of the error.
constexpr double kMostLeft = 0.3;
// So many elements tell. All of a large result would cost as much as the product itself.
constexpr std::int64_t kSampled = 1 << 14;

// So many terms are looked at together, and they are told apart from here on.
constexpr std::int64_t kMostTogether = 512;
constexpr double kToldApart = 1e-9;

double root_mean_square(const at::Tensor& values) {
  return std::sqrt(values.square().nan_to_num(0, 0, 0).mean().item<double>());
}

// Every so-many-th row and column is looked at.
struct Steps {
  std::int64_t row = 1;
  std::int64_t column = 1;
};

Steps steps_for(std::int64_t elements, std::int64_t rows, std::int64_t columns) {
  const std::int64_t times = (elements + kSampled - 1) / kSampled;
  const auto root = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(times))));
  const std::int64_t row = std::clamp<std::int64_t>(root, 1, std::max<std::int64_t>(1, rows));
  const std::int64_t column = (times + row - 1) / row;
  return {row, std::clamp<std::int64_t>(column, 1, std::max<std::int64_t>(1, columns))};
}

// The share of each term in the error: -1 of one that was left out, about 0 of the others. Terms
// that are alike share in the same error, so that all shares are found together, by least squares;
// of very many terms, each one apart.
at::Tensor shares(const Product& wide, const at::Tensor& error) {
  const std::int64_t terms = wide.left.size(-1);
  const at::Tensor parts = (at::matmul(error, wide.right.mT()) * wide.left).sum(-2);
  const at::Tensor of_error = parts.reshape({-1, terms}).sum(0);
  if (terms > kMostTogether || error.numel() < terms) {
    const at::Tensor sizes =
        wide.left.square().sum(-2, true) * wide.right.square().sum(-1, true).mT();
    return of_error / sizes.reshape({-1, terms}).sum(0);
  }
  const at::Tensor alike =
      at::matmul(wide.left.mT(), wide.left) * at::matmul(wide.right, wide.right.mT());
  const at::Tensor together = alike.reshape({-1, terms, terms}).sum(0);
  const at::Tensor sizes = together.diagonal().sqrt();
  const at::Tensor usual = together / sizes.outer(sizes);  // terms of very different sizes
  const at::Tensor inverse =
      at::linalg_pinv(usual.nan_to_num(0, 0, 0), kToldApart, /*hermitian=*/true);
  return at::mv(inverse, (of_error / sizes).nan_to_num(0, 0, 0)) / sizes;
}

}  // namespace

LostTerms lost_terms(const Product& product, const at::Tensor& error) {
  const std::vector<std::int64_t> shape = shape_of(product);
  const std::int64_t terms = product.left.size(-1);
  const std::int64_t tail = std::min(terms - 1, kMostLost);
  if (c10::multiply_integers(shape) != error.numel() || tail < 1) return {};
  const Steps steps = steps_for(error.numel(), product.left.size(-2), product.right.size(-1));
  const auto rows = [&](const at::Tensor& all) {
    return all.slice(-2, 0, all.size(-2), steps.row);
  };
  const auto columns = [&](const at::Tensor& all) {
    return all.slice(-1, 0, all.size(-1), steps.column);
  };
  const at::Tensor left = rows(product.left).narrow(-1, terms - tail, tail).to(at::kDouble);
  const at::Tensor right = columns(product.right).narrow(-2, terms - tail, tail).to(at::kDouble);
  at::Tensor rest = columns(rows(error.reshape(shape))).to(at::kDouble).clone();
  const double whole = root_mean_square(rest);
  LostTerms found{.count = 0, .left = kMostLeft};
  for (std::int64_t lost = 1; lost <= tail; ++lost) {
    rest += left.narrow(-1, tail - lost, 1) * right.narrow(-2, tail - lost, 1);
    const double share = root_mean_square(rest) / whole;
    if (share < found.left) found = {.count = lost, .left = share};
  }
  return found.count > 0 ? found : LostTerms{};
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
      all + at::matmul(wide.left.index_select(-1, lost), wide.right.index_select(-2, lost));
  const double left = root_mean_square(rest) / root_mean_square(all);
  return left < kMostLeft ? LostTerms{lost.numel(), left} : LostTerms{};
}

}  // namespace msprobe::strict
