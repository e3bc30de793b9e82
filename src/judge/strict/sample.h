// SPDX-License-Identifier: Apache-2.0
// Some of the elements of a product: whether a hypothesis explains its error is seen from few.
#pragma once

#include "strict/product.h"

namespace msprobe::strict {

// Every so-many-th row and column of a product.
struct Sample {
  std::vector<std::int64_t> shape;  // of the product
  std::int64_t row_step = 1;
  std::int64_t column_step = 1;
  at::Tensor left, right;  // those rows and columns of the factors

  // The same elements of a tensor that has as many as the product.
  at::Tensor of(const at::Tensor& all) const;
};

// Of about `elements`, or all of them if there are fewer, with the first `terms` terms.
Sample sample_of(const Product& product, std::int64_t elements, std::int64_t terms);
Sample sample_of(const Product& product, std::int64_t elements);

}  // namespace msprobe::strict
