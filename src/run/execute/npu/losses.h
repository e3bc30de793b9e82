// SPDX-License-Identifier: Apache-2.0
// Bench definition of npu_cross_entropy_loss and its gradient.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

struct CrossEntropy {
  at::Tensor weight = {};  // (C,), or undefined
  std::string reduction = "mean";
  std::int64_t ignore_index = -100;  // a negative number ignores nothing
  double label_smoothing = 0;
};

// (loss, log softmax) of input (N, C) and target (N,), in the dtype of the input. The loss has one
// element, or one for each row without a reduction. Differentiable through the loss, from the
// logarithms as they were rounded.
std::tuple<at::Tensor, at::Tensor> npu_cross_entropy_loss(const at::Tensor& input,
                                                          const at::Tensor& target,
                                                          const CrossEntropy& options);

// The loss of given logarithms, in their dtype. Linear in them.
at::Tensor loss_of(const at::Tensor& log_prob, const at::Tensor& target,
                   const CrossEntropy& options);

at::Tensor npu_cross_entropy_loss_backward(const at::Tensor& grad, const at::Tensor& log_prob,
                                           const at::Tensor& target, const CrossEntropy& options);

}  // namespace msprobe::execute::npu
