// SPDX-License-Identifier: Apache-2.0
// Bench definition of npu_moe_gating_top_k: which experts a token goes to, and how much of it.
#pragma once

#include <cstdint>
#include <tuple>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

struct Gating {
  std::int64_t k = 1;
  at::Tensor bias = {};  // of the experts, for the choice alone; or undefined
  std::int64_t kept_groups = 1;
  std::int64_t groups = 1;
  bool by_two_best = false;  // a group's score: the sum of its two best, else its best
  bool sigmoid = false;      // else softmax
  double factor = 1;
  double eps = 1e-20;
};

struct GatingScores {
  at::Tensor weights;  // of all experts, float32 at least
  at::Tensor choice;   // the same with the bias; -inf in groups that are not kept
};
GatingScores gating_scores(const at::Tensor& x, const Gating& options);

// The k best of the choice, descending; of equal ones the lower expert first.
at::Tensor chosen_experts(const at::Tensor& choice, std::int64_t k);
// What those experts weigh.
at::Tensor gating_weights(const at::Tensor& weights, const at::Tensor& experts,
                          const Gating& options);

// The gradient of x from that of the weights, with the experts as they were chosen.
at::Tensor gating_backward(const at::Tensor& weights, const at::Tensor& grad,
                           const at::Tensor& experts, const Gating& options);

}  // namespace msprobe::execute::npu
