// SPDX-License-Identifier: Apache-2.0
// A call of a product with scales, as its operators name what they are given, and the product that
// it means: recipes are found, scales are laid out, groups are taken apart.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libtorch/aten.h"
#include "low_precision/scaled_product.h"

namespace msprobe::low_precision {

// The scales of one factor: those of blocks first, then one of the whole tensor. Recipes and
// swizzles are empty in the first version of the operators, which tells them by dtype and shape.
struct GivenScales {
  std::vector<at::Tensor> scales;
  std::vector<std::int64_t> recipes = {}, swizzles = {};
};

struct ScaledCall {
  at::Tensor left, right;  // self, mat2
  GivenScales left_scales, right_scales;
  bool scaled = true;  // false: _grouped_mm
  bool grouped = false;
  bool first_version = true;
  std::vector<std::int64_t> ends;  // of the groups
  at::Tensor bias;                 // undefined: none
  at::ScalarType type = at::kBFloat16;
  bool fast_sums = false;
  std::optional<double> of_result;
};

// Throws what LibTorch throws where scales do not fit.
ScaledProduct product_of(const ScaledCall& call);

}  // namespace msprobe::low_precision
