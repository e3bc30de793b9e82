// SPDX-License-Identifier: Apache-2.0
// A product that leaves out some of its terms.
#pragma once

#include "strict/product.h"

namespace msprobe::strict {

struct LostTerms {
  std::int64_t count = 0;  // 0: that does not explain the error
  double left = 1;         // share of the error that it leaves
};

// Without the last of them. `error`: device - bench, of as many elements as the product.
LostTerms lost_terms(const Product& product, const at::Tensor& error);
// The same, of results that seldom are so: looks at few elements first.
LostTerms lost_terms(const Product& product, const at::Tensor& device, const at::Tensor& bench);

// Without any of them, found by how much of each term is in the error: that takes more elements
// than lost terms. Costs up to two products.
LostTerms scattered_lost_terms(const Product& product, const at::Tensor& error);

}  // namespace msprobe::strict
