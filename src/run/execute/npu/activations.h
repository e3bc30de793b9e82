// SPDX-License-Identifier: Apache-2.0
// Bench definitions of the elementwise fused NPU operators and of the masked softmax.
//
// Every function of this folder is an ordinary composition over ATen: it runs on whatever device
// and in whatever dtype its inputs have, and autograd differentiates it. Half types are computed in
// float32 and rounded once, at the end, as fused operators do; only products of matrices stay in
// the half type. An undefined tensor stands for Python's None; what cannot be computed throws
// c10::Error.
#pragma once

#include <cstdint>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// x * sigmoid(1.702 x).
at::Tensor npu_fast_gelu(const at::Tensor& x);
at::Tensor npu_fast_gelu_backward(const at::Tensor& grad, const at::Tensor& x);

// x * tanh(softplus(x)).
at::Tensor npu_mish(const at::Tensor& x);

// The halves (a, b) of x along `dim` give silu(a) * b.
at::Tensor npu_swiglu(const at::Tensor& x, std::int64_t dim);
at::Tensor npu_swiglu_backward(const at::Tensor& grad, const at::Tensor& x, std::int64_t dim);

// softmax over the last dimension of x * scale, with -10000 where the mask is set. With
// `fixed_triu_mask` the mask's values are replaced by the strict upper triangle of its shape
// (of x's if there is no mask).
at::Tensor npu_scaled_masked_softmax(const at::Tensor& x, const at::Tensor& mask, double scale,
                                     bool fixed_triu_mask);
// From the softmax's own output y, not from x.
at::Tensor npu_scaled_masked_softmax_backward(const at::Tensor& grad, const at::Tensor& y,
                                              const at::Tensor& mask, double scale,
                                              bool fixed_triu_mask);

}  // namespace msprobe::execute::npu
