// SPDX-License-Identifier: Apache-2.0
// Bench definitions of the fused optimizer steps. They return the new state and leave the old one
// alone; autograd has no part in them.
#pragma once

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// A parameter with its first and second moment.
struct AdamState {
  at::Tensor var, m, v;
};

struct AdamWStep {
  double beta1_power = 0;  // of the step before this one
  double beta2_power = 0;
  double lr = 0;
  double weight_decay = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  bool amsgrad = false;
  bool maximize = false;
};

// `max_grad_norm` is read with amsgrad only: the largest second moment so far.
AdamState npu_apply_adam_w(const AdamWStep& step, const at::Tensor& grad,
                           const at::Tensor& max_grad_norm, const AdamState& state);

struct AdamStep {
  double beta1_power = 0;  // of this step
  double beta2_power = 0;
  double lr = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  bool use_nesterov = false;
};

AdamState npu_apply_adam(const AdamStep& step, const at::Tensor& grad, const AdamState& state);

}  // namespace msprobe::execute::npu
