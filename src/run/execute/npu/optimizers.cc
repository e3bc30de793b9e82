// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/optimizers.h"

#include <cmath>

#include "execute/npu/compute_dtype.h"

namespace msprobe::execute::npu {

namespace {

AdamState in_dtypes_of(const AdamState& state, const AdamState& result) {
  return {.var = result.var.to(state.var.scalar_type()),
          .m = result.m.to(state.m.scalar_type()),
          .v = result.v.to(state.v.scalar_type())};
}

}  // namespace

AdamState npu_apply_adam_w(const AdamWStep& step, const at::Tensor& grad,
                           const at::Tensor& max_grad_norm, const AdamState& state) {
  TORCH_CHECK(!step.amsgrad || max_grad_norm.defined(),
              "npu_apply_adam_w: amsgrad needs max_grad_norm");
  double power1 = step.beta1_power * step.beta1;
  double power2 = step.beta2_power * step.beta2;
  if (1 - power1 == 0) power1 -= step.epsilon;
  if (step.amsgrad && 1 - power2 == 0) power2 -= step.epsilon;

  const at::Tensor g = step.maximize ? -widened(grad) : widened(grad);
  const at::Tensor m = step.beta1 * widened(state.m) + (1 - step.beta1) * g;
  const at::Tensor v = step.beta2 * widened(state.v) + (1 - step.beta2) * g * g;
  const at::Tensor second = step.amsgrad ? at::maximum(widened(max_grad_norm), v) : v;
  const at::Tensor denominator = at::sqrt(second / (1 - power2)) + step.epsilon;
  const at::Tensor var = widened(state.var) * (1 - step.lr * step.weight_decay) -
                         (step.lr * m / (1 - power1)) / denominator;
  return in_dtypes_of(state, {.var = var, .m = m, .v = v});
}

AdamState npu_apply_adam(const AdamStep& step, const at::Tensor& grad, const AdamState& state) {
  const at::Tensor g = widened(grad);
  const at::Tensor m0 = widened(state.m);
  const at::Tensor v0 = widened(state.v);
  const at::Tensor m = m0 + (step.beta1 - 1) * (m0 - g);
  const at::Tensor v = v0 + (step.beta2 - 1) * (v0 - g * g);
  const double rate = step.lr * std::sqrt(1 - step.beta2_power) / (1 - step.beta1_power);
  const at::Tensor direction = step.use_nesterov ? step.beta1 * m + (1 - step.beta1) * g : m;
  const at::Tensor var = widened(state.var) - rate * direction / (step.epsilon + at::sqrt(v));
  return in_dtypes_of(state, {.var = var, .m = m, .v = v});
}

}  // namespace msprobe::execute::npu
