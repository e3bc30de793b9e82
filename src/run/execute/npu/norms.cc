// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/norms.h"

#include <numeric>
#include <vector>

#include "execute/npu/compute_dtype.h"

namespace msprobe::execute::npu {

namespace {

// The last `count` dimensions, as negative numbers.
std::vector<std::int64_t> trailing_dims(std::int64_t count) {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(count));
  std::iota(dims.begin(), dims.end(), -count);
  return dims;
}

// gamma or beta, one value per channel, so that it broadcasts over x.
at::Tensor per_channel(const at::Tensor& values, const at::Tensor& x) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = x.size(1);
  return values.reshape(shape);
}

}  // namespace

at::Tensor npu_layer_norm_eval(const at::Tensor& input, at::IntArrayRef normalized_shape,
                               const at::Tensor& weight, const at::Tensor& bias, double eps) {
  return at::layer_norm(input, normalized_shape, weight, bias, eps);
}

std::tuple<at::Tensor, at::Tensor> npu_rms_norm(const at::Tensor& x, const at::Tensor& gamma,
                                                double epsilon) {
  TORCH_CHECK(gamma.dim() > 0 && gamma.dim() <= x.dim(), "npu_rms_norm: gamma of shape ",
              gamma.sizes(), " does not fit x of shape ", x.sizes());
  const at::Tensor wide = widened(x);
  const at::Tensor mean_square = wide.square().mean(trailing_dims(gamma.dim()), /*keepdim=*/true);
  const at::Tensor rstd = at::rsqrt(mean_square + epsilon);
  return {(wide * rstd * gamma).to(x.scalar_type()), rstd.to(at::kFloat)};
}

std::tuple<at::Tensor, at::Tensor> npu_rms_norm_backward(const at::Tensor& grad,
                                                         const at::Tensor& x,
                                                         const at::Tensor& gamma,
                                                         const at::Tensor& rstd) {
  const at::Tensor wide_grad = widened(grad);
  const at::Tensor normed = widened(x) * rstd;
  const at::Tensor scaled = wide_grad * gamma;
  const at::Tensor mean = (scaled * normed).mean(trailing_dims(gamma.dim()), /*keepdim=*/true);
  const at::Tensor grad_x = rstd * (scaled - normed * mean);
  const at::Tensor grad_gamma = (normed * wide_grad).sum_to_size(gamma.sizes());
  return {grad_x.to(x.scalar_type()), grad_gamma.to(gamma.scalar_type())};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> npu_add_rms_norm(const at::Tensor& x1,
                                                                const at::Tensor& x2,
                                                                const at::Tensor& gamma,
                                                                double epsilon) {
  TORCH_CHECK(gamma.dim() > 0 && gamma.dim() <= x1.dim(), "npu_add_rms_norm: gamma of shape ",
              gamma.sizes(), " does not fit x1 of shape ", x1.sizes());
  const at::Tensor x = x1 + x2;
  const at::Tensor wide = widened(x);
  const at::Tensor mean_square = wide.square().mean(trailing_dims(gamma.dim()), /*keepdim=*/true);
  const at::Tensor rstd = at::rsqrt(mean_square + epsilon);
  const at::Tensor normed = (wide * rstd).to(x.scalar_type());
  return {(widened(normed) * widened(gamma)).to(x.scalar_type()), rstd, x};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> npu_group_norm_silu(const at::Tensor& x,
                                                                   const at::Tensor& gamma,
                                                                   const at::Tensor& beta,
                                                                   std::int64_t group, double eps) {
  TORCH_CHECK(x.dim() >= 2, "npu_group_norm_silu: x of shape ", x.sizes(),
              " has no batch and channel dimensions");
  TORCH_CHECK(group > 0 && x.size(1) % group == 0, "npu_group_norm_silu: ", x.size(1),
              " channels cannot be split into ", group, " groups");
  const std::int64_t batch = x.size(0);
  const std::int64_t per_group = batch == 0 ? 0 : x.numel() / (batch * group);
  const at::Tensor grouped = widened(x).reshape({batch, group, per_group});
  const at::Tensor mean = grouped.mean(-1, /*keepdim=*/true);
  const at::Tensor centred = grouped - mean;
  const at::Tensor rstd = at::rsqrt(centred.square().mean(-1, /*keepdim=*/true) + eps);
  at::Tensor y = (centred * rstd).reshape(x.sizes());
  if (gamma.defined()) y = y * per_channel(gamma, x);
  if (beta.defined()) y = y + per_channel(beta, x);
  const at::ScalarType dtype = x.scalar_type();
  return {at::silu(y).to(dtype), mean.squeeze(-1).to(dtype), rstd.squeeze(-1).to(dtype)};
}

}  // namespace msprobe::execute::npu
