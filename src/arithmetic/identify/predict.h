// SPDX-License-Identifier: Apache-2.0
// Predicts a device's result of a matrix product from its card, bit for bit.
#pragma once

#include <string_view>
#include <vector>

#include "card/card.h"
#include "core/operation.h"

namespace msprobe::identify {

// `api`: "matmul", "mm", "bmm", "linear" or another name of theirs ("__matmul__"); `inputs` as the
// API takes them, all of one dtype. An error: the card knows no unit for the dtype, or this is not
// a product of matrices.
Result<Numbers> predict(const card::Card& card, std::string_view api,
                        const std::vector<Numbers>& inputs);

}  // namespace msprobe::identify
