// SPDX-License-Identifier: Apache-2.0
// Bench definitions of the fused NPU operators that move data or multiply matrices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// transpose_first: permute by `perm`, then view as `shape`; else view, then permute.
at::Tensor npu_confusion_transpose(const at::Tensor& data, at::IntArrayRef perm,
                                   at::IntArrayRef shape, bool transpose_first);
// `data_shape` is the shape of the forward's input.
at::Tensor npu_confusion_transpose_backward(const at::Tensor& grad, at::IntArrayRef perm,
                                            at::IntArrayRef data_shape, bool transpose_first);

// Mode "half" rotates the halves (a, b) of the last dimension to (-b, a); "interleave" rotates each
// pair of neighbours. Where a matrix (D, D) is given, x is multiplied with it instead.
struct Rotation {
  std::string mode = "half";
  at::Tensor matrix = {};
};

// r1 * x + r2 * rotated(x), broadcasting r1 and r2.
at::Tensor npu_rotary_mul(const at::Tensor& x, const at::Tensor& r1, const at::Tensor& r2,
                          const Rotation& rotation);
// The gradients of x, r1 and r2, the last two summed over the dimensions that were broadcast.
std::tuple<at::Tensor, at::Tensor, at::Tensor> npu_rotary_mul_backward(const at::Tensor& grad,
                                                                       const at::Tensor& x,
                                                                       const at::Tensor& r1,
                                                                       const at::Tensor& r2,
                                                                       const Rotation& rotation);

// The even positions of the last dimension, then the odd ones, rotated by halves. The result stays
// in that order.
at::Tensor npu_interleave_rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin);

// matmul(input, mat2); `output_sizes`: empty, or the shape to which broadcast dimensions are
// summed.
at::Tensor npu_bmm_v2(const at::Tensor& input, const at::Tensor& mat2,
                      at::IntArrayRef output_sizes);

// Where an operand or the result has its batch: as listed, or exchanged with the next dimension.
struct TransposeBatchMatmul {
  std::vector<std::int64_t> perm_x1 = {0, 1, 2};
  std::vector<std::int64_t> perm_x2 = {0, 1, 2};
  std::vector<std::int64_t> perm_y = {1, 0, 2};
  std::int64_t batch_split_factor = 1;
};
at::Tensor npu_transpose_batchmatmul(const at::Tensor& input, const at::Tensor& weight,
                                     const TransposeBatchMatmul& options);

// A copy of `input` with updates[i] at indices[i].
at::Tensor npu_scatter_nd_update(const at::Tensor& input, const at::Tensor& indices,
                                 const at::Tensor& updates);

// x times the transpose of weight, plus bias (may be undefined).
at::Tensor npu_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
// The gradients of x and weight.
std::tuple<at::Tensor, at::Tensor> npu_linear_backward(const at::Tensor& grad, const at::Tensor& x,
                                                       const at::Tensor& weight);

// The gradients of matmul(self, other) for every combination of ranks; `mask` says which are
// produced, the other is left undefined.
std::tuple<at::Tensor, at::Tensor> matmul_gradients(const at::Tensor& grad, const at::Tensor& self,
                                                    const at::Tensor& other,
                                                    const std::vector<bool>& mask);

}  // namespace msprobe::execute::npu
