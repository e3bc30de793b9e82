// SPDX-License-Identifier: Apache-2.0
#include "divergence/flow.h"

#include <algorithm>
#include <unordered_map>

namespace msprobe::divergence {

std::vector<FlowEdge> find_flow(const Trace& run) {
  const bool has_apis = std::ranges::any_of(
      run.calls, [](const Call& call) { return !call.is_module && !call.api.empty(); });
  std::vector<FlowEdge> edges;
  std::unordered_map<std::uint64_t, std::uint32_t> made_by;  // identity -> call
  for (std::uint32_t i = 0; i < run.calls.size(); ++i) {
    const Call& call = run.calls[i];
    if (has_apis && call.is_module) continue;
    const std::size_t first = edges.size();
    for (const RunTensor& tensor : run.inputs(call)) {
      const auto made = tensor.has_values() ? made_by.find(tensor.identity) : made_by.end();
      if (made == made_by.end()) continue;
      const FlowEdge edge{made->second, i};
      if (std::find(edges.begin() + static_cast<std::ptrdiff_t>(first), edges.end(), edge) ==
          edges.end()) {
        edges.push_back(edge);
      }
    }
    for (const RunTensor& tensor : run.outputs(call)) {
      if (tensor.has_values()) made_by[tensor.identity] = i;
    }
  }
  return edges;
}

}  // namespace msprobe::divergence
