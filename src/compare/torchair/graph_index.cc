// SPDX-License-Identifier: Apache-2.0
#include "torchair/graph_index.h"

#include <algorithm>
#include <array>

#include "ge/file_name.h"

namespace msprobe::torchair {

GraphIndex::GraphIndex(ge::Graph graph) : graph_(std::move(graph)) {
  for (OpId id = 0; id < graph_.ops.size(); ++id) {
    const ge::GraphOp& op = graph_.ops[id];
    by_name_.try_emplace(op.name, id);
    by_escaped_name_.try_emplace(ge::escaped(op.name), id);
    for (const ge::GraphEdge& edge : op.inputs) {
      readers_[edge.producer].emplace_back(edge.output, id);
    }
  }
}

std::optional<OpId> GraphIndex::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<OpId> GraphIndex::find_escaped(std::string_view name) const {
  const auto found = by_escaped_name_.find(std::string(name));
  return found == by_escaped_name_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<OpId> GraphIndex::readers(OpId id, std::uint32_t output) const {
  std::vector<OpId> ids;
  const auto found = readers_.find(op(id).name);
  if (found == readers_.end()) return ids;
  for (const auto& [place, reader] : found->second) {
    if (place == output) ids.push_back(reader);
  }
  return ids;
}

std::optional<std::string> GraphIndex::fx_key(OpId id) const {
  for (const std::string& name : op(id).fx_names) {
    if (const auto parsed = parse_fx_tensor_name(name)) return parsed->key;
  }
  return std::nullopt;
}

std::string_view GraphIndex::fx_name(OpId id, std::uint32_t output) const {
  const std::vector<std::string>& names = op(id).fx_names;
  return output < names.size() ? std::string_view(names[output]) : std::string_view();
}

bool GraphIndex::is_source(OpId id) const {
  constexpr std::array<std::string_view, 9> kTypes = {
      "Data",     "RefData",      "Const",       "Constant", "ConstPlaceHolder",
      "Variable", "FileConstant", "PlaceHolder", "QueueData"};
  return std::ranges::find(kTypes, op(id).type) != kTypes.end();
}

}  // namespace msprobe::torchair
