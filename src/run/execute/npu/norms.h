// SPDX-License-Identifier: Apache-2.0
// Bench definitions of the fused NPU normalisations.
#pragma once

#include <cstdint>
#include <tuple>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// Layer norm over the trailing `normalized_shape`; weight and bias may be undefined.
at::Tensor npu_layer_norm_eval(const at::Tensor& input, at::IntArrayRef normalized_shape,
                               const at::Tensor& weight, const at::Tensor& bias, double eps);

// (x * r * gamma, r in float32), r = 1 / sqrt(mean(x^2) + epsilon) over the dimensions of gamma.
std::tuple<at::Tensor, at::Tensor> npu_rms_norm(const at::Tensor& x, const at::Tensor& gamma,
                                                double epsilon);
// (grad of x, grad of gamma) from the r that the forward returned.
std::tuple<at::Tensor, at::Tensor> npu_rms_norm_backward(const at::Tensor& grad,
                                                         const at::Tensor& x,
                                                         const at::Tensor& gamma,
                                                         const at::Tensor& rstd);

// (silu(group norm of x), mean, 1 / standard deviation), the last two of shape (N, group). x has
// the batch, then the channels, then any further dimensions; gamma and beta may be undefined.
// x = x1 + x2 and its root mean square norm: (normed, 1 / root mean square, x). In a half type the
// steps are rounded as Atlas A2 and A3 round them: x, the quotient, and the product with gamma.
std::tuple<at::Tensor, at::Tensor, at::Tensor> npu_add_rms_norm(const at::Tensor& x1,
                                                                const at::Tensor& x2,
                                                                const at::Tensor& gamma,
                                                                double epsilon);

std::tuple<at::Tensor, at::Tensor, at::Tensor> npu_group_norm_silu(const at::Tensor& x,
                                                                   const at::Tensor& gamma,
                                                                   const at::Tensor& beta,
                                                                   std::int64_t group, double eps);

}  // namespace msprobe::execute::npu
