// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/gates.h"

#include <utility>

#include "execute/npu/compute_dtype.h"

namespace msprobe::execute::npu {
namespace {

// The half that is activated, and the other one.
std::pair<at::Tensor, at::Tensor> activated_and_linear(const at::Tensor& x, const GeluGate& gate) {
  TORCH_CHECK(x.dim() > 0, "npu_geglu: the input has no dimension to split");
  const std::int64_t size = x.size(gate.dim);
  TORCH_CHECK(size % 2 == 0, "npu_geglu: dimension ", gate.dim, " of the input has ", size,
              " elements, an even number is needed");
  const at::Tensor left = x.narrow(gate.dim, 0, size / 2);
  const at::Tensor right = x.narrow(gate.dim, size / 2, size / 2);
  return gate.activate_left ? std::pair(left, right) : std::pair(right, left);
}

c10::string_view approximation(bool tanh) { return tanh ? "tanh" : "none"; }

}  // namespace

at::Tensor npu_gelu(const at::Tensor& x, const std::string& approximate) {
  return at::gelu(widened(x), approximate).to(x.scalar_type());
}

at::Tensor npu_gelu_backward(const at::Tensor& grad, const at::Tensor& x,
                             const std::string& approximate) {
  return at::gelu_backward(widened(grad), widened(x), approximate).to(x.scalar_type());
}

std::tuple<at::Tensor, at::Tensor> npu_geglu(const at::Tensor& x, const GeluGate& gate) {
  const auto [activated, linear] = activated_and_linear(widened(x), gate);
  const at::Tensor gelu = at::gelu(activated, approximation(gate.tanh));
  return {(linear * gelu).to(x.scalar_type()), gelu.to(x.scalar_type())};
}

at::Tensor npu_geglu_grad(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gelu,
                          const GeluGate& gate) {
  const at::Tensor wide_grad = widened(grad);
  const auto [activated, linear] = activated_and_linear(widened(x), gate);
  const at::Tensor of_linear = wide_grad * widened(gelu);
  const at::Tensor of_activated =
      at::gelu_backward(wide_grad * linear, activated, approximation(gate.tanh));
  const auto parts =
      gate.activate_left ? std::pair(of_activated, of_linear) : std::pair(of_linear, of_activated);
  return at::cat({parts.first, parts.second}, gate.dim).to(x.scalar_type());
}

at::Tensor npu_clipped_swiglu(const at::Tensor& x, const ClippedSwiglu& options,
                              c10::optional<std::int64_t> rows) {
  TORCH_CHECK(x.dim() > 0, "npu_clipped_swiglu: x has no dimension to split");
  const std::int64_t dim = at::maybe_wrap_dim(options.dim, x.dim());
  TORCH_CHECK(x.size(dim) % 2 == 0, "npu_clipped_swiglu: dimension ", dim, " of x has ",
              x.size(dim), " elements, an even number is needed");
  std::int64_t columns = 1;
  for (std::int64_t i = dim; i < x.dim(); ++i) columns *= x.size(i);
  const std::int64_t all_rows = columns == 0 ? 0 : x.numel() / columns;
  const at::Tensor wide = widened(x).reshape({all_rows, columns});
  const at::Tensor pairs = options.interleaved
                               ? wide.reshape({all_rows, columns / 2, 2}).permute({2, 0, 1})
                               : wide.reshape({all_rows, 2, columns / 2}).permute({1, 0, 2});
  const at::Tensor a = pairs[0].clamp_max(options.limit);
  const at::Tensor b = pairs[1].clamp(-options.limit, options.limit);
  at::Tensor y = a * at::sigmoid(a * options.alpha) * (b + options.bias);
  if (rows && *rows < all_rows) {
    const at::Tensor is_defined = at::arange(all_rows, x.device()) < *rows;
    y = at::where(is_defined.unsqueeze(-1), y, at::zeros({}, y.options()));
  }
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape[static_cast<std::size_t>(dim)] /= 2;
  return y.reshape(shape).to(x.scalar_type());
}

}  // namespace msprobe::execute::npu
