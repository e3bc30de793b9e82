// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/activations.h"

#include <utility>

#include "execute/npu/compute_dtype.h"

namespace msprobe::execute::npu {

namespace {

constexpr double kFastGeluSlope = 1.702;
constexpr double kMaskedScore = -10000.0;  // what the operator writes where the mask is set

std::pair<at::Tensor, at::Tensor> halves(const at::Tensor& x, std::int64_t dim) {
  TORCH_CHECK(x.dim() > 0, "npu_swiglu: x has no dimension to split");
  const std::int64_t size = x.size(dim);
  TORCH_CHECK(size % 2 == 0, "npu_swiglu: dimension ", dim, " of x has ", size,
              " elements, an even number is needed");
  return {x.narrow(dim, 0, size / 2), x.narrow(dim, size / 2, size / 2)};
}

// Undefined if nothing is masked.
at::Tensor effective_mask(const at::Tensor& mask, const at::Tensor& x, bool fixed_triu_mask) {
  if (!fixed_triu_mask) return mask.defined() ? mask.to(at::kBool) : mask;
  const at::Tensor& shaped = mask.defined() ? mask : x;
  return at::ones(shaped.sizes(), x.options().dtype(at::kBool).requires_grad(false)).triu(1);
}

}  // namespace

at::Tensor npu_fast_gelu(const at::Tensor& x) {
  const at::Tensor wide = widened(x);
  return (wide * at::sigmoid(wide * kFastGeluSlope)).to(x.scalar_type());
}

at::Tensor npu_fast_gelu_backward(const at::Tensor& grad, const at::Tensor& x) {
  const at::Tensor wide = widened(x);
  const at::Tensor gate = at::sigmoid(wide * kFastGeluSlope);
  const at::Tensor slope = gate + kFastGeluSlope * wide * gate * (1 - gate);
  return (grad * slope).to(x.scalar_type());
}

at::Tensor npu_mish(const at::Tensor& x) { return at::mish(widened(x)).to(x.scalar_type()); }

at::Tensor npu_swiglu(const at::Tensor& x, std::int64_t dim) {
  const auto [a, b] = halves(widened(x), dim);
  return (at::silu(a) * b).to(x.scalar_type());
}

at::Tensor npu_swiglu_backward(const at::Tensor& grad, const at::Tensor& x, std::int64_t dim) {
  const auto [a, b] = halves(widened(x), dim);
  const at::Tensor gate = at::sigmoid(a);
  const at::Tensor grad_a = grad * b * (gate + a * gate * (1 - gate));
  const at::Tensor grad_b = grad * a * gate;
  return at::cat({grad_a, grad_b}, dim).to(x.scalar_type());
}

at::Tensor npu_scaled_masked_softmax(const at::Tensor& x, const at::Tensor& mask, double scale,
                                     bool fixed_triu_mask) {
  at::Tensor scores = widened(x) * scale;
  const at::Tensor masked = effective_mask(mask, x, fixed_triu_mask);
  if (masked.defined()) scores = scores.masked_fill(masked, kMaskedScore);
  return at::softmax(scores, -1).to(x.scalar_type());
}

at::Tensor npu_scaled_masked_softmax_backward(const at::Tensor& grad, const at::Tensor& y,
                                              const at::Tensor& mask, double scale,
                                              bool fixed_triu_mask) {
  const at::Tensor wide_y = widened(y);
  const at::Tensor wide_grad = widened(grad);
  const at::Tensor mean = (wide_grad * wide_y).sum(-1, /*keepdim=*/true);
  at::Tensor result = wide_y * (wide_grad - mean) * scale;
  const at::Tensor masked = effective_mask(mask, y, fixed_triu_mask);
  if (masked.defined()) result = result.masked_fill(masked, 0);
  return result.to(y.scalar_type());
}

}  // namespace msprobe::execute::npu
