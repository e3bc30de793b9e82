// SPDX-License-Identifier: Apache-2.0
// Bench definitions of the fused NPU operators that order values: expert routing and sorting.
#pragma once

#include <cstdint>
#include <tuple>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// Softmax over the last dimension (the experts), then the k largest: (their values, their indices,
// row_idx), each of x's shape with k as last dimension. The rows are x's leading dimensions made
// one; row_idx of row i and column j is j * rows + i. Where `finished` (one flag a row, may be
// undefined) is set the indices are the number of experts: no expert.
std::tuple<at::Tensor, at::Tensor, at::Tensor> npu_moe_gating_top_k_softmax(
    const at::Tensor& x, const at::Tensor& finished, std::int64_t k);

// The sorted values, without their indices.
at::Tensor npu_sort_v2(const at::Tensor& x, std::int64_t dim, bool descending);

}  // namespace msprobe::execute::npu
