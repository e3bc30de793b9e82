// SPDX-License-Identifier: Apache-2.0
// Products of codes with scales (_scaled_mm and its relatives), read from a recorded call.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "execute/api.h"
#include "execute/execute_call.h"
#include "low_precision/scaled_product.h"

namespace msprobe::execute {

// Nothing: another operator, or numbers that are not codes. Throws BindError, and what LibTorch
// throws where scales do not fit.
std::optional<low_precision::ScaledProduct> scaled_product_of(std::string_view bare_name,
                                                              const PyCall& call);

// What the benchmark runs in place of the operator; null: the operator itself.
const Api* find_benchmark(std::string_view bare_name);

// A grouped product holds what the memory held where no group is, and so does a gradient of its
// factor: there both become zero.
void clear_undefined_groups(std::string_view bare_name, const PyCall& call, PyValue& bench,
                            PyValue& device);
void clear_undefined_gradients(std::string_view bare_name, const PyCall& call,
                               std::vector<LeafPair>& gradients);

}  // namespace msprobe::execute
