// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/gating.h"

#include <limits>

#include "execute/npu/compute_dtype.h"

namespace msprobe::execute::npu {
namespace {

at::Tensor only_kept_groups(const at::Tensor& choice, const Gating& options) {
  if (options.groups <= 1) return choice;
  TORCH_CHECK(choice.size(-1) % options.groups == 0, choice.size(-1), " experts in ",
              options.groups, " groups");
  const at::Tensor grouped = choice.unflatten(-1, {options.groups, -1});
  const std::int64_t count = options.by_two_best ? std::min<std::int64_t>(2, grouped.size(-1)) : 1;
  const at::Tensor score = std::get<0>(grouped.topk(count, -1)).sum(-1);
  const at::Tensor best = chosen_experts(score, options.kept_groups);
  const at::Tensor kept =
      at::zeros_like(score, score.options().dtype(at::kBool)).scatter(-1, best, true);
  return grouped
      .masked_fill(kept.logical_not().unsqueeze(-1), -std::numeric_limits<double>::infinity())
      .flatten(-2);
}

}  // namespace

GatingScores gating_scores(const at::Tensor& x, const Gating& options) {
  const at::Tensor wide = widened(x);
  const at::Tensor weights = options.sigmoid ? at::sigmoid(wide) : at::softmax(wide, -1);
  const at::Tensor fixed = weights.detach();
  const at::Tensor choice =
      options.bias.defined() ? fixed + options.bias.detach().to(fixed.scalar_type()) : fixed;
  return {weights, only_kept_groups(choice, options)};
}

at::Tensor chosen_experts(const at::Tensor& choice, std::int64_t k) {
  TORCH_CHECK(k > 0 && k <= choice.size(-1), "the best ", k, " of ", choice.size(-1));
  return std::get<1>(at::sort(choice, /*stable=*/true, -1, /*descending=*/true)).narrow(-1, 0, k);
}

at::Tensor gating_weights(const at::Tensor& weights, const at::Tensor& experts,
                          const Gating& options) {
  const at::Tensor chosen = weights.gather(-1, experts);
  if (!options.sigmoid) return chosen * options.factor;
  return chosen / (chosen.sum(-1, /*keepdim=*/true) + options.eps) * options.factor;
}

at::Tensor gating_backward(const at::Tensor& weights, const at::Tensor& grad,
                           const at::Tensor& experts, const Gating& options) {
  const at::Tensor p = widened(weights);
  const at::Tensor dy = grad.to(p.scalar_type()) * options.factor;
  const at::Tensor index = experts.to(at::kLong);
  const at::Tensor chosen = p.gather(-1, index);
  at::Tensor of_chosen = dy;
  if (options.sigmoid) {
    const at::Tensor sum = chosen.sum(-1, /*keepdim=*/true) + options.eps;
    of_chosen = dy / sum - (dy * chosen).sum(-1, /*keepdim=*/true) / sum.square();
  }
  const at::Tensor of_weights = at::zeros_like(p).scatter_add(-1, index, of_chosen);
  if (options.sigmoid) return of_weights * p * (1 - p);
  return p * (of_weights - (of_weights * p).sum(-1, /*keepdim=*/true));
}

}  // namespace msprobe::execute::npu
