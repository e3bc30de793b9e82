// SPDX-License-Identifier: Apache-2.0
// Results that are one matrix product, taken apart: for hypotheses that compute it otherwise.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "arguments/py_value.h"
#include "strict/right_factor.h"

namespace msprobe::strict {

// A result that is left @ right + added, as recorded: on the CPU, of floating dtypes.
struct Product {
  at::Tensor left;
  RightFactor right;
  at::Tensor added;
  std::int64_t channels = 0;  // of a convolution: its terms are channels x places of the kernel
  bool one_way = true;        // false: a kernel may as well compute it otherwise than term by term
  double filled = 1;  // the largest share of the terms of an element that are not zero by rule
};

// The same sums of a convolution, with the channels of a place of the kernel side by side. Nothing
// if this is not one, or if both orders are the same.
std::optional<Product> channels_last(const Product& product);
// The same sums, with the last terms first.
Product reversed(const Product& product);

// The same in float64, to compute with.
Product in_double(const Product& product);
// The same elements in the same order, with one dimension of matrices at most.
Product in_matrices(const Product& product);
// The shape of left @ right.
std::vector<std::int64_t> shape_of(const Product& product);

// Nothing if the API is not such a product, or not for these arguments.
std::optional<Product> forward_product(std::string_view bare_name, const arguments::PyCall& call);
// The gradient at `path` of such a call.
std::optional<Product> gradient_product(std::string_view bare_name, const arguments::PyCall& call,
                                        const arguments::PyList& arriving, std::string_view path);

}  // namespace msprobe::strict
