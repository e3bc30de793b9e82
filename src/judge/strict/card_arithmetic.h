// SPDX-License-Identifier: Apache-2.0
// Matrix products in the arithmetic of a device's card.
#pragma once

#include <map>
#include <vector>

#include "core/known_products.h"
#include "core/result.h"
#include "libtorch/aten.h"
#include "strict/product.h"
#include "units/unit.h"

namespace msprobe::strict {

// How a device multiplies matrices of one dtype.
struct UnitArithmetic {
  std::vector<units::Unit> units = {};  // the one on the card, then those that it does not exclude
  bool certain = false;                 // nothing that was tried differs from it
  bool flushes_inputs = false;
  bool flushes_results = false;
  bool saturates = false;
};
using CardArithmetic = std::map<at::ScalarType, UnitArithmetic>;

// An error: a unit that cannot be read. dtypes that this LibTorch does not have are left out.
Result<CardArithmetic> card_arithmetic(const std::vector<KnownProducts>& products);

// Whether products of float32 round their inputs to TF32 or HF32.
bool rounds_to_tf32(const CardArithmetic& card);

// How what is added to a product joins it: in float32, or when the product has the result's dtype.
enum class Added : std::uint8_t { kInFloat32, kInResult };

// left @ right + added in the shape of shape_of(product), of dtype `type`.
at::Tensor computed(const UnitArithmetic& arithmetic, const units::Unit& unit,
                    const Product& product, at::ScalarType type, Added added);

}  // namespace msprobe::strict
