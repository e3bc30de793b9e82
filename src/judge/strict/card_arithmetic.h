// SPDX-License-Identifier: Apache-2.0
// Matrix products in the arithmetic of a device's card.
#pragma once

#include <map>
#include <vector>

#include "libtorch/aten.h"
#include "strict/product.h"
#include "units/known_products.h"

namespace msprobe::strict {

// How a device multiplies, by the dtype of the factors.
using CardArithmetic = std::map<at::ScalarType, units::KnownProducts>;

// dtypes that this LibTorch does not have are left out.
CardArithmetic card_arithmetic(const std::vector<units::KnownProducts>& products);

// Whether products of float32 round their inputs to TF32 or HF32.
bool rounds_to_tf32(const CardArithmetic& card);

// How what is added to a product joins it: in float32, or when the product has the result's dtype.
enum class Added : std::uint8_t { kInFloat32, kInResult };

// left @ right + added in the shape of shape_of(product), of dtype `type`.
at::Tensor computed(const units::KnownProducts& arithmetic, const units::Unit& unit,
                    const Product& product, at::ScalarType type, Added added);

}  // namespace msprobe::strict
