// SPDX-License-Identifier: Apache-2.0
// Normalisations and their gradients.
#include "operator.h"

using namespace cann;

namespace {

// Statistics are float32 whatever the type of the values.
at::Tensor wide(const at::Tensor& tensor) {
  return tensor.defined() && at::isReducedFloatingType(tensor.scalar_type()) ? tensor.to(at::kFloat)
                                                                             : tensor;
}
std::optional<at::Tensor> wide(const T& tensor) {
  return tensor.defined() ? std::optional(wide(*tensor)) : std::nullopt;
}

at::Tensor like(const at::Tensor& value, const T& target) {
  return value.to((*target).scalar_type());
}

}  // namespace

OPERATOR(LayerNorm, (T input, Ints shape, T weight, T bias, double eps, T out, T mean, T rstd), {
  const auto [result, average, inverse] =
      at::native_layer_norm(wide(*input), *shape, wide(weight), wide(bias), eps);
  out = like(result, out);
  if (mean.defined()) mean = average;
  if (rstd.defined()) rstd = inverse;
})
OPERATOR(LayerNormBackward,
         (T grad, T input, Ints shape, T mean, T rstd, T weight, T bias, Bools mask, T grad_input,
          T grad_weight, T grad_bias),
         {
           const std::array<bool, 3> wanted = mask.first<3>();
           const auto [to_input, to_weight, to_bias] =
               at::native_layer_norm_backward(wide(*grad), wide(*input), *shape, wide(*mean),
                                              wide(*rstd), wide(weight), wide(bias), wanted);
           if (wanted[0]) grad_input = like(to_input, grad_input);
           if (wanted[1]) grad_weight = like(to_weight, grad_weight);
           if (wanted[2]) grad_bias = like(to_bias, grad_bias);
         })
OPERATOR(BatchNorm,
         (T input, T weight, T bias, T running_mean, T running_var, bool training, double momentum,
          double eps, T out, T mean, T invstd),
         {
           const auto [result, average, inverse] =
               at::native_batch_norm(wide(*input), wide(weight), wide(bias), running_mean.maybe(),
                                     running_var.maybe(), training, momentum, eps);
           out = like(result, out);
           if (training) {
             mean = average;
             invstd = inverse;
           }
         })
OPERATOR(BatchNormBackward,
         (T grad, T input, T weight, T running_mean, T running_var, T mean, T invstd, bool training,
          double eps, Bools mask, T grad_input, T grad_weight, T grad_bias),
         {
           const std::array<bool, 3> wanted = mask.first<3>();
           const auto [to_input, to_weight, to_bias] = at::native_batch_norm_backward(
               wide(*grad), wide(*input), wide(weight), running_mean.maybe(), running_var.maybe(),
               wide(mean), wide(invstd), training, eps, wanted);
           if (wanted[0]) grad_input = like(to_input, grad_input);
           if (wanted[1]) grad_weight = like(to_weight, grad_weight);
           if (wanted[2]) grad_bias = like(to_bias, grad_bias);
         })
OPERATOR(GroupNorm,
         (T input, T gamma, T beta, int64_t n, int64_t c, int64_t hw, int64_t group, double eps,
          T out, T mean, T rstd),
         {
           const auto [result, average, inverse] = at::native_group_norm(
               wide(*input).contiguous(), wide(gamma), wide(beta), n, c, hw, group, eps);
           out = like(result, out);
           mean = average;
           rstd = inverse;
         })
OPERATOR(GroupNormBackward,
         (T grad, T input, T mean, T rstd, T gamma, int64_t n, int64_t c, int64_t hw, int64_t group,
          Bools mask, T grad_input, T grad_gamma, T grad_beta),
         {
           const std::array<bool, 3> wanted = mask.first<3>();
           const auto [to_input, to_gamma, to_beta] = at::native_group_norm_backward(
               wide(*grad).contiguous(), wide(*input).contiguous(), wide(*mean), wide(*rstd),
               wide(gamma), n, c, hw, group, wanted);
           if (wanted[0]) grad_input = like(to_input, grad_input);
           if (wanted[1]) grad_gamma = like(to_gamma, grad_gamma);
           if (wanted[2]) grad_beta = like(to_beta, grad_beta);
         })
