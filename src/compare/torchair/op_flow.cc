// SPDX-License-Identifier: Apache-2.0
#include "torchair/op_flow.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace msprobe::torchair {
namespace {

class Flow {
 public:
  Flow(std::span<const Members* const> ops, const GraphIndex& graph) : ops_(ops), graph_(graph) {}

  std::vector<std::vector<std::uint32_t>> run() {
    std::vector<std::vector<std::uint32_t>> sources(ops_.size());
    for (std::uint32_t i = 0; i < ops_.size(); ++i) {
      sources[i] = sources_of_op(*ops_[i]);
      for (const OpId member : ops_[i]->ops) latest_[member] = i;
    }
    return sources;
  }

 private:
  // Operators that are passed through on the way to one that was dumped.
  static constexpr std::size_t kMostPassed = 64;

  std::vector<std::uint32_t> sources_of_op(const Members& op) const {
    std::vector<OpId> open = op.ops;
    std::unordered_set<OpId> seen(open.begin(), open.end());
    std::vector<std::uint32_t> found;
    for (std::size_t i = 0; i < open.size() && i < op.ops.size() + kMostPassed; ++i) {
      for (const ge::GraphEdge& edge : graph_.op(open[i]).inputs) {
        const std::optional<OpId> producer = graph_.find(edge.producer);
        if (!producer || !seen.insert(*producer).second) continue;
        const auto dumped = latest_.find(*producer);
        if (dumped == latest_.end()) {
          open.push_back(*producer);
        } else if (std::ranges::find(found, dumped->second) == found.end()) {
          found.push_back(dumped->second);
        }
      }
    }
    return found;
  }

  std::span<const Members* const> ops_;
  const GraphIndex& graph_;
  std::unordered_map<OpId, std::uint32_t> latest_;  // the last operator so far that it belongs to
};

}  // namespace

std::vector<std::vector<std::uint32_t>> sources_of(std::span<const Members* const> ops,
                                                   const GraphIndex& graph) {
  return Flow(ops, graph).run();
}

}  // namespace msprobe::torchair
