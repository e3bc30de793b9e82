// SPDX-License-Identifier: Apache-2.0
// Results that are a matrix product, or contain one: judged by how sums of products are computed.
#pragma once

#include <optional>

#include "strict/call_context.h"
#include "strict/product_bound.h"

namespace msprobe::strict {

// Whether the API's result is one product, as a rule.
bool is_product_form(const CallContext& context);

// The product that the result is; nothing if it is not one, or its benchmark is no better than
// itself.
std::optional<Product> product_of(CallContext& context, const Pair& pair, const FloatType& type);

// Nothing if product_of() gives nothing.
std::optional<ProductBound> product_bound(CallContext& context, const Pair& pair,
                                          const FloatType& type);

// A pass, or nothing. Leaves in `tried` what was compared last.
std::optional<StrictFinding> judge_product(CallContext& context, const Pair& pair,
                                           const FloatType& type, ProductBound& bound,
                                           Tried& tried);

// Of results that contain products, with the spreads measured: whether a unit gives them.
std::optional<StrictFinding> judge_cut(CallContext& context, const Pair& pair,
                                       const FloatType& type, const Tried& tried);

}  // namespace msprobe::strict
