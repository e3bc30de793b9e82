// SPDX-License-Identifier: Apache-2.0
// The sizes of the terms of a product, and how far its partial sums wander. They are computed for
// some elements at a time, so that all that is known of these stays in the cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "strict/product.h"

namespace msprobe::strict {

// Whole matrices of a product, or rows of one.
struct ProductPart {
  std::int64_t matrix = 0;
  std::int64_t matrices = 1;
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t start = 0;  // its first element
};

class ProductTerms {
 public:
  // Number of parts that the terms are split into to see where their sum wanders.
  static constexpr std::int64_t kParts = 16;

  // Of the first `taken` terms, computed in `type`. REQUIRES: in_matrices(product).
  ProductTerms(const Product& product, std::int64_t taken, bool walks, at::ScalarType type);

  // Calls take(part) for parts of about `elements` elements, in order, until it returns false.
  void for_parts(std::int64_t elements, const auto& take) const {
    const std::int64_t at_once = std::max<std::int64_t>(1, elements / std::max(columns_, kOne));
    const std::int64_t rows = std::min(at_once, rows_);
    const std::int64_t matrices = rows < rows_ ? 1 : at_once / std::max(rows_, kOne);
    for (std::int64_t matrix = 0; matrix < matrices_; matrix += matrices) {
      for (std::int64_t row = 0; row < rows_; row += rows) {
        const ProductPart part{matrix, std::min(matrices, matrices_ - matrix), row,
                               std::min(rows, rows_ - row), (matrix * rows_ + row) * columns_};
        if (!take(part)) return;
      }
    }
  }
  ProductPart all() const { return {0, matrices_, 0, rows_, 0}; }

  // N: the roots of the sums of the squares of the terms, one after another, in float64.
  at::Tensor norms(const ProductPart& part) const;
  // W: how far the partial sums leave the straight line from 0 to `sums`, which are those of the
  // part. Undefined if nobody walks along them.
  at::Tensor wander(const ProductPart& part, const at::Tensor& sums) const;

 private:
  static constexpr std::int64_t kOne = 1;

  at::Tensor multiply(const at::Tensor& left, const at::Tensor& right,
                      const ProductPart& part) const;

  Product product_;
  Product squared_;  // of the terms taken
  bool walks_;
  std::int64_t matrices_, rows_, columns_;
};

}  // namespace msprobe::strict
