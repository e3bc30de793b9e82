// SPDX-License-Identifier: Apache-2.0
#include "strict/product_terms.h"

namespace msprobe::strict {

ProductTerms::ProductTerms(const Product& product, std::int64_t taken, bool walks,
                           at::ScalarType type)
    : squared_{product.left.narrow(-1, 0, taken).to(type).square(),
               product.right.first_terms(taken).to(type).square(),
               {}},
      walks_(walks),
      matrices_(product.right.dim() == 2 ? 1 : product.right.size(0)),
      rows_(product.left.size(-2)),
      columns_(product.right.size(-1)) {
  if (walks) product_ = {product.left.to(type), product.right.all().to(type), {}};
}

at::Tensor ProductTerms::multiply(const at::Tensor& left, const at::Tensor& right,
                                  const ProductPart& part) const {
  const auto matrices_of = [&](const at::Tensor& factor) {
    if (factor.dim() == 2) return factor;
    return part.matrices == 1 ? factor.select(0, part.matrix)
                              : factor.narrow(0, part.matrix, part.matrices);
  };
  return at::matmul(matrices_of(left).narrow(-2, part.row, part.rows), matrices_of(right))
      .contiguous()
      .view({-1});
}

// Roots of float32 numbers are taken in float32, which is several times faster.
at::Tensor ProductTerms::norms(const ProductPart& part) const {
  return multiply(squared_.left, squared_.right.all(), part).sqrt_().to(at::kDouble);
}

at::Tensor ProductTerms::wander(const ProductPart& part, const at::Tensor& sums) const {
  if (!walks_) return {};
  at::Tensor reached = at::zeros_like(sums);
  at::Tensor wander = at::zeros_like(sums);
  const std::int64_t terms = product_.left.size(-1);
  for (std::int64_t i = 0; i < kParts; ++i) {
    const std::int64_t start = terms * i / kParts;
    const std::int64_t end = terms * (i + 1) / kParts;
    if (end == start) continue;
    reached += multiply(product_.left.narrow(-1, start, end - start),
                        product_.right.all().narrow(-2, start, end - start), part);
    const double way = static_cast<double>(end) / static_cast<double>(terms);
    wander = at::maximum(wander, (reached - sums * way).abs_());
  }
  return wander;
}

}  // namespace msprobe::strict
