// SPDX-License-Identifier: Apache-2.0
#include "low_precision/scaled_product.h"

#include <algorithm>

namespace msprobe::low_precision {
namespace {

// Calls make(left, right) for the factors of every part, scales included, and puts what it gives
// where the part is.
template <class Make>
at::Tensor by_parts(const ScaledProduct& product, const Make& make) {
  at::Tensor result = at::zeros(product.shape, at::kDouble);
  for (const Part& part : product.parts) {
    const at::Tensor left = part.left.scaled();
    const at::Tensor right = part.right.scaled();
    part.place_in(result).copy_(make(left, right));
  }
  return result;
}

at::Tensor product_of_rows(const at::Tensor& left, const at::Tensor& right) {
  return at::mm(left, right.t());
}

// A row is not finite where a factor is not, and NaN times its size would hide that it is infinite.
at::Tensor sizes_of(const at::Tensor& factor) { return factor.nan_to_num(0, 0, 0).abs(); }

}  // namespace

at::Tensor Factor::scaled() const {
  if (!scales.defined()) return scale == 1 ? numbers : numbers * scale;
  const at::Tensor whole = numbers * for_elements(scales, block, shape());
  return scale == 1 ? whole : whole * scale;
}

at::Tensor Part::place_in(const at::Tensor& result) const {
  const at::Tensor matrix = index < 0 ? result : result.select(0, index);
  return matrix.narrow(0, row, left.numbers.size(0)).narrow(1, column, right.numbers.size(0));
}

at::Tensor compose(const ScaledProduct& product) {
  const at::Tensor result = by_parts(product, product_of_rows);
  return product.bias.defined() ? result + product.bias : result;
}

TermSizes term_sizes(const ScaledProduct& product) {
  TermSizes sizes;
  sizes.products = by_parts(product, product_of_rows);
  sizes.sums = by_parts(product, [](const at::Tensor& left, const at::Tensor& right) {
    return product_of_rows(sizes_of(left), sizes_of(right));
  });
  sizes.norms = by_parts(product, [](const at::Tensor& left, const at::Tensor& right) {
    return product_of_rows(sizes_of(left).square(), sizes_of(right).square()).sqrt();
  });
  for (const Part& part : product.parts) {
    sizes.terms = std::max(sizes.terms, part.left.numbers.size(1));
  }
  return sizes;
}

at::Tensor is_defined(const ScaledProduct& product) {
  at::Tensor defined = at::zeros(product.shape, at::kBool);
  for (const Part& part : product.parts) part.place_in(defined).fill_(true);
  return defined;
}

}  // namespace msprobe::low_precision
