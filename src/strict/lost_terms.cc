// SPDX-License-Identifier: Apache-2.0
#include "strict/lost_terms.h"

#include <cmath>

namespace msprobe::strict {
namespace {

// A block of terms that a kernel may leave out.
constexpr std::int64_t kMostLost = 64;
// It fits when it leaves less than this share of the error.
constexpr double kMostLeft = 0.3;

double root_mean_square(const at::Tensor& values) {
  return std::sqrt(values.square().nan_to_num(0, 0, 0).mean().item<double>());
}

}  // namespace

LostTerms lost_terms(const Product& product, const at::Tensor& error) {
  const double whole = root_mean_square(error);
  const std::int64_t terms = product.left.size(-1);
  LostTerms found{.count = 0, .left = kMostLeft};
  at::Tensor left = error.flatten().clone();
  for (std::int64_t lost = 1; lost < terms && lost <= kMostLost; ++lost) {
    const at::Tensor term =
        product.left.narrow(-1, terms - lost, 1) * product.right.narrow(-2, terms - lost, 1);
    if (term.numel() != error.numel()) return {};
    left += term.flatten();
    const double share = root_mean_square(left) / whole;
    if (share < found.left) found = {.count = lost, .left = share};
  }
  return found.count > 0 ? found : LostTerms{};
}

}  // namespace msprobe::strict
