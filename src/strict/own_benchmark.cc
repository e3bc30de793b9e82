#include "strict/own_benchmark.h"

namespace msprobe::strict {

using execute::LeafPair;

std::optional<execute::Variation> own_benchmark(const execute::CallName& name,
                                                const execute::CallOutcome& outcome,
                                                bool recorded) {
  if (name.bare_name != "conv1d" && name.bare_name != "conv2d") return std::nullopt;
  const auto* device =
      outcome.forward.empty() ? nullptr : outcome.forward.front().device.as<at::Tensor>();
  if (device == nullptr || device->scalar_type() != at::kFloat) return std::nullopt;
  return execute::Variation{.target = at::kDouble, .adjust = !recorded};
}

LeafTensors bench_tensors(const execute::CallOutcome& outcome) {
  LeafTensors tensors;
  const auto add = [&](const std::vector<LeafPair>& pairs, Direction direction) {
    for (const LeafPair& pair : pairs) {
      if (const auto* tensor = pair.bench.as<at::Tensor>())
        tensors[{direction, pair.path}] = *tensor;
    }
  };
  add(outcome.forward, Direction::kForward);
  add(outcome.backward, Direction::kBackward);
  return tensors;
}

}  // namespace msprobe::strict
