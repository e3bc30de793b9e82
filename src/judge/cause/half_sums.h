// SPDX-License-Identifier: Apache-2.0
// Sums that a device keeps in a half type, and which of the two it is.
#pragma once

#include <optional>

#include "strict/product.h"

namespace msprobe::cause {

using strict::Product;

struct HalfSums {
  // float16 or bfloat16; nothing: the two cannot be told apart.
  std::optional<at::ScalarType> type;
  // The share of the error that is left where the sums were computed again so; nothing: only the
  // size of the error speaks for it.
  std::optional<double> left;
};

// Nothing where the error is not one of sums in a half type. REQUIRES: a product in float64, of as
// many elements as `device` (of its own dtype) and `bench`.
std::optional<HalfSums> half_sums(const Product& product, const at::Tensor& device,
                                  const at::Tensor& bench);

}  // namespace msprobe::cause
