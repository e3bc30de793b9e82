// SPDX-License-Identifier: Apache-2.0
#include "strict/own_benchmark.h"

#include <optional>

#include "ops/op.h"

namespace msprobe::strict {

namespace {

using execute::LeafPair;

// Nothing if the documented benchmark serves.
std::optional<execute::Variation> own_benchmark(const CallName& name,
                                                const execute::CallOutcome& outcome,
                                                const execute::ExecuteOptions& options) {
  if (!options.arguments.hf32) return std::nullopt;
  if (ops::traits_of(name.bare_name).inputs != ops::InputRule::kHf32) return std::nullopt;
  const auto* device =
      outcome.forward.empty() ? nullptr : outcome.forward.front().device.as<at::Tensor>();
  if (device == nullptr || device->scalar_type() != at::kFloat) return std::nullopt;
  return execute::Variation{.target = at::kDouble, .adjust = !options.recorded};
}

}  // namespace

LeafTensors tensors_of(const execute::CallOutcome& outcome, Side side) {
  LeafTensors tensors;
  const auto add = [&](const std::vector<LeafPair>& pairs, Direction direction) {
    for (const LeafPair& pair : pairs) {
      const auto& value = side == Side::kBench ? pair.bench : pair.device;
      if (const auto* tensor = value.as<at::Tensor>()) tensors[{direction, pair.path}] = *tensor;
    }
  };
  add(outcome.forward, Direction::kForward);
  add(outcome.backward, Direction::kBackward);
  return tensors;
}

Benchmark benchmark_of(const CallName& name, const execute::CallOutcome& outcome,
                       const execute::ExecuteOptions& options, execute::Rerun& rerun) {
  if (const auto own = own_benchmark(name, outcome, options)) {
    if (const auto leaves = rerun.run(*own)) return {*own, tensors_of(*leaves)};
  }
  return {{}, tensors_of(outcome, Side::kBench)};
}

at::Tensor gradient_at_logits(const at::Tensor& last_node, const at::Tensor& logits) {
  const std::int64_t dim = logits.dim() == 1 ? 0 : 1;
  const at::Tensor gradient = last_node.to(at::kDouble);
  const at::Tensor shares = logits.detach().to(at::kDouble).softmax(dim);
  return (gradient - shares * gradient.sum(dim, /*keepdim=*/true)).to(last_node.scalar_type());
}

}  // namespace msprobe::strict
