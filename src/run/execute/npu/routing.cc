// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/routing.h"

#include "execute/npu/compute_dtype.h"

namespace msprobe::execute::npu {

std::tuple<at::Tensor, at::Tensor, at::Tensor> npu_moe_gating_top_k_softmax(
    const at::Tensor& x, const at::Tensor& finished, std::int64_t k) {
  TORCH_CHECK(x.dim() > 0, "npu_moe_gating_top_k_softmax: x has no dimension of experts");
  const std::int64_t experts = x.size(-1);
  TORCH_CHECK(k > 0 && k <= experts, "npu_moe_gating_top_k_softmax: k is ", k, " of ", experts,
              " experts");
  // Sorted before it is rounded to a half type: rounding makes ties that the bench does not have.
  const at::Tensor weights = at::softmax(widened(x), -1);
  const auto [sorted, order] = at::sort(weights, /*stable=*/true, -1, /*descending=*/true);
  at::Tensor expert = order.narrow(-1, 0, k).contiguous();
  if (finished.defined()) {
    const at::Tensor rows_done =
        finished.to(at::kBool).reshape(x.sizes().slice(0, x.sizes().size() - 1));
    expert = expert.masked_fill(rows_done.unsqueeze(-1), experts);
  }
  const at::Tensor positions = at::arange(expert.numel(), expert.options());
  const std::int64_t rows = expert.numel() / k;
  const at::Tensor row = positions.reshape({k, rows}).t().reshape(expert.sizes());
  return {sorted.narrow(-1, 0, k).to(x.scalar_type()), expert, row};
}

at::Tensor npu_sort_v2(const at::Tensor& x, std::int64_t dim, bool descending) {
  return std::get<0>(at::sort(x, dim, descending));
}

}  // namespace msprobe::execute::npu
