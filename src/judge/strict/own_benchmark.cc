// SPDX-License-Identifier: Apache-2.0
#include "strict/own_benchmark.h"

#include <algorithm>
#include <optional>

#include "arguments/hf32.h"
#include "ops/op.h"

namespace msprobe::strict {

namespace {

using execute::LeafPair;

// Nothing if the documented benchmark serves.
std::optional<execute::Variation> own_benchmark(const CallName& name,
                                                const execute::CallOutcome& outcome,
                                                const execute::ExecuteOptions& options) {
  if (!options.replay().hf32) return std::nullopt;
  if (ops::traits_of(name.bare_name).inputs != ops::InputRule::kHf32) return std::nullopt;
  const auto* device =
      outcome.forward.empty() ? nullptr : outcome.forward.front().device.as<at::Tensor>();
  if (device == nullptr || device->scalar_type() != at::kFloat) return std::nullopt;
  return execute::Variation{.target = at::kDouble, .adjust = !options.recorded};
}

// To HF32, as the documented benchmark rounds the arguments of a convolution.
at::Tensor in_hf32(const at::Tensor& tensor, at::ScalarType recorded) {
  if (recorded != at::kFloat) return tensor;
  at::Tensor narrow = tensor.detach().to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  narrow = narrow.contiguous();
  float* data = narrow.data_ptr<float>();
  std::transform(data, data + narrow.numel(), data, arguments::to_hf32);
  return narrow.to(tensor.scalar_type()).set_requires_grad(tensor.requires_grad());
}

// The factors of a convolution; a bias is added in full precision.
void round_factors(arguments::PyCall& call) {
  const auto round = [](arguments::PyValue& value) {
    const auto* tensor = value.as<at::Tensor>();
    if (tensor != nullptr) value = {in_hf32(*tensor, tensor->scalar_type())};
  };
  for (std::size_t i = 0; i < std::min<std::size_t>(call.args.size(), 2); ++i) round(call.args[i]);
  for (auto& [name, value] : call.kwargs) {
    if (name == "input" || name == "self" || name == "weight") round(value);
  }
}

bool is_convolution(const CallName& name) {
  return ops::traits_of(name.bare_name).sums == ops::Sums::kConvolution ||
         name.bare_name == "convolution" || name.bare_name == "_convolution";
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

std::vector<LeafTensors> benchmarks_in_hf32(const CallName& name,
                                            const execute::CallOutcome& outcome,
                                            const execute::ExecuteOptions& options,
                                            execute::Rerun& rerun) {
  if (!options.replay().hf32 || !is_convolution(name)) return {};
  const auto own = own_benchmark(name, outcome, options);
  execute::Variation inputs{.edit = round_factors, .target = at::kDouble};
  inputs.adjust = own && own->adjust;
  execute::Variation all = inputs;
  all.change_arriving = in_hf32;
  std::vector<LeafTensors> found;
  const auto add = [&](const execute::Variation& how) {
    if (const auto leaves = rerun.run(how)) found.push_back(tensors_of(*leaves));
  };
  if (!inputs.adjust) add(inputs);  // those of the benchmark are not rounded
  if (!outcome.backward.empty()) add(all);
  return found;
}

}  // namespace msprobe::strict
