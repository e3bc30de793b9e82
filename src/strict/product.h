// SPDX-License-Identifier: Apache-2.0
// Results that are one matrix product, taken apart: for hypotheses that compute it otherwise.
#pragma once

#include <optional>
#include <string_view>

#include "arguments/py_value.h"

namespace msprobe::strict {

// A result that is left @ right + added, in float64.
struct Product {
  at::Tensor left, right, added;
};

// Nothing where the API is no such product, or not for these arguments.
std::optional<Product> forward_product(std::string_view bare_name, const arguments::PyCall& call);
// The gradient at `path` of such a call.
std::optional<Product> gradient_product(std::string_view bare_name, const arguments::PyCall& call,
                                        const arguments::PyList& arriving, std::string_view path);

}  // namespace msprobe::strict
