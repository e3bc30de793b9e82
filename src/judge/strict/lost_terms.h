// SPDX-License-Identifier: Apache-2.0
// A product that leaves out some of its terms.
#pragma once

#include "strict/product.h"

namespace msprobe::strict {

// They fit when they leave less than this share of the error.
inline constexpr double kMostLeft = 0.3;

struct LostTerms {
  std::int64_t count = 0;  // 0: that does not explain the error
  double left = 1;         // share of the error that it leaves
};

// Without the last of them. REQUIRES: `device` and `bench` have as many elements.
LostTerms lost_terms(const Product& product, const at::Tensor& device, const at::Tensor& bench);

}  // namespace msprobe::strict
