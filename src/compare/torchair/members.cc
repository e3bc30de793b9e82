// SPDX-License-Identifier: Apache-2.0
#include "torchair/members.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "ge/file_name.h"

namespace msprobe::torchair {
namespace {

constexpr std::string_view kLongFusionSuffix = "_ub_fusion";

// Operators GE inserts; where one of them carries the name of a neighbour it is still its own.
bool is_inserted_type(std::string_view type) {
  constexpr std::array<std::string_view, 6> kTypes = {"TransData",       "Cast",      "MemSet",
                                                      "AtomicAddrClean", "Transpose", "TransposeD"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

// "MatMulV3" and "ReduceMeanD" are later or static forms of "MatMul" and "ReduceMean".
std::string_view base_type(std::string_view type) {
  const std::size_t end = type.find_last_not_of("0123456789");
  if (end != std::string_view::npos && end + 1 < type.size() && type[end] == 'V') {
    type = type.substr(0, end);
  }
  if (type.size() > 1 && type.ends_with('D') && type[type.size() - 2] >= 'a') {
    type.remove_suffix(1);
  }
  return type;
}

bool same_kind(std::string_view a, std::string_view b) { return base_type(a) == base_type(b); }

std::optional<OpId> find_spelled(std::string_view name, bool is_escaped, const GraphIndex& graph) {
  return is_escaped ? graph.find_escaped(name) : graph.find(name);
}

bool reads(OpId reader, OpId producer, const GraphIndex& graph) {
  const auto& edges = graph.op(reader).inputs;
  return std::ranges::find(edges, graph.op(producer).name, &ge::GraphEdge::producer) != edges.end();
}

// The operators that the outputs' headers name as their origin.
std::vector<OpId> original_ops(const GeFile& file, const GraphIndex& graph) {
  std::set<OpId> found;
  for (const GeTensorInfo& output : file.outputs) {
    if (!output.original_op) continue;
    if (const auto id = graph.find(output.original_op->name)) found.insert(*id);
  }
  return {found.begin(), found.end()};
}

// Everything that `from` can reach along edges, itself included, or that can reach it.
std::set<OpId> reachable(OpId from, bool forward, const GraphIndex& graph) {
  std::set<OpId> seen{from};
  std::vector<OpId> open{from};
  while (!open.empty()) {
    const OpId id = open.back();
    open.pop_back();
    std::vector<OpId> next;
    if (forward) {
      const std::size_t outputs = std::max<std::size_t>(graph.op(id).fx_names.size(), 1);
      for (std::uint32_t i = 0; i < outputs; ++i) {
        for (const OpId reader : graph.readers(id, i)) next.push_back(reader);
      }
    } else {
      for (const ge::GraphEdge& edge : graph.op(id).inputs) {
        if (const auto producer = graph.find(edge.producer)) next.push_back(*producer);
      }
    }
    for (const OpId other : next) {
      if (seen.insert(other).second) open.push_back(other);
    }
  }
  return seen;
}

void find_borders(Members& members, const GraphIndex& graph) {
  const std::set<OpId> inside(members.ops.begin(), members.ops.end());
  const auto is_inside = [&](const std::string& name) {
    const auto id = graph.find(name);
    return id && inside.contains(*id);
  };
  members.inputs.clear();
  members.outputs.clear();
  for (const OpId member : members.ops) {
    const ge::GraphOp& op = graph.op(member);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!is_inside(op.inputs[i].producer)) members.inputs.push_back({member, i});
    }
    for (std::uint32_t i = 0; i < op.fx_names.size(); ++i) {
      const std::vector<OpId> readers = graph.readers(member, i);
      const bool is_read_outside =
          std::ranges::any_of(readers, [&](OpId reader) { return !inside.contains(reader); });
      // An operator by itself dumps every output, read or not.
      if (is_read_outside || members.ops.size() == 1) members.outputs.push_back({member, i});
    }
  }
  if (members.outputs.empty() && !members.ops.empty()) {
    const OpId last = members.ops.back();
    for (std::uint32_t i = 0; i < graph.op(last).fx_names.size(); ++i) {
      members.outputs.push_back({last, i});
    }
  }
}

// "<first>_ub_fusion" stands for names too long to be joined: what lies between the first member
// and the operators that the outputs come from, if the number of tensors agrees.
std::vector<OpId> long_fusion(OpId first, const GeFile& file, const GraphIndex& graph) {
  const std::vector<OpId> last = original_ops(file, graph);
  if (last.empty()) return {};
  const std::set<OpId> after = reachable(first, true, graph);
  std::set<OpId> between{first};
  for (const OpId id : last) {
    for (const OpId before : reachable(id, false, graph)) {
      if (after.contains(before)) between.insert(before);
    }
    between.insert(id);
  }
  // Or the whole run of operators in graph order, where members do not follow from the first.
  std::vector<OpId> run;
  for (OpId id = first; id <= last.back(); ++id) {
    if (!graph.is_source(id)) run.push_back(id);
  }
  const std::vector<OpId> path(between.begin(), between.end());
  for (const std::vector<OpId>& candidate : {path, run}) {
    Members members{candidate, {}, {}, false};
    find_borders(members, graph);
    if (members.inputs.size() == file.inputs.size()) return candidate;
  }
  return path;
}

// The graph operator whose name, with something behind it, is the dumped one's. A number alone does
// not count: GE calls another operator beside "Add" "Add_7".
std::optional<OpId> find_prefix(const GeFile& file, const GraphIndex& graph) {
  for (std::size_t end = file.op_name.rfind('_'); end != std::string::npos && end > 0;
       end = file.op_name.rfind('_', end - 1)) {
    if (file.op_name.find_first_not_of("0123456789", end + 1) == std::string::npos) continue;
    const auto id = find_spelled(file.op_name.substr(0, end), file.name_is_escaped, graph);
    if (id && same_kind(graph.op(*id).type, file.op_type)) return id;
  }
  return std::nullopt;
}

std::vector<OpId> find_ops(const GeFile& file, const GraphIndex& graph) {
  const std::string& name = file.op_name;
  std::vector<OpId> joined = split_joined_name(name, file.name_is_escaped, graph);
  if (!joined.empty()) return joined;
  if (name.ends_with(kLongFusionSuffix)) {
    const std::string first = name.substr(0, name.size() - kLongFusionSuffix.size());
    if (const auto id = find_spelled(first, file.name_is_escaped, graph)) {
      return long_fusion(*id, file, graph);
    }
  }
  const std::vector<OpId> original = original_ops(file, graph);
  const bool is_inserted = is_inserted_type(file.op_type) && !original.empty() &&
                           !same_kind(graph.op(original.front()).type, file.op_type);
  if (!original.empty() && !is_inserted) return original;
  if (const auto id = find_prefix(file, graph)) return {*id};
  return {};
}

}  // namespace

std::vector<OpId> split_joined_name(const std::string& name, bool is_escaped,
                                    const GraphIndex& graph) {
  struct Best {
    std::size_t segments = std::numeric_limits<std::size_t>::max();
    std::size_t strangers = 0;  // neighbours that do not read each other
    std::size_t from = 0;
    OpId op = 0;
  };
  // Joined names are at most 512 bytes; longer ones are not joined.
  constexpr std::size_t kLongest = 4096;
  if (name.size() > kLongest) return {};
  std::vector<Best> best(name.size() + 1);
  best[0].segments = 0;
  for (std::size_t end = 1; end <= name.size(); ++end) {
    for (std::size_t from = 0; from < end; ++from) {
      if (best[from].segments == std::numeric_limits<std::size_t>::max()) continue;
      const auto id =
          find_spelled(std::string_view(name).substr(from, end - from), is_escaped, graph);
      if (!id || graph.is_source(*id)) continue;
      const std::size_t segments = best[from].segments + 1;
      const bool strange = from > 0 && !reads(*id, best[from].op, graph);
      const std::size_t strangers = best[from].strangers + (strange ? 1 : 0);
      if (std::tie(segments, strangers) < std::tie(best[end].segments, best[end].strangers)) {
        best[end] = {segments, strangers, from, *id};
      }
    }
  }
  std::vector<OpId> ops;
  if (best.back().segments == std::numeric_limits<std::size_t>::max()) return ops;
  for (std::size_t end = name.size(); end > 0; end = best[end].from) ops.push_back(best[end].op);
  std::ranges::reverse(ops);
  return ops;
}

Members find_members(const GeFile& file, const GraphIndex& graph) {
  Members members;
  if (const auto id = find_spelled(file.op_name, file.name_is_escaped, graph)) {
    members.ops = {*id};
    members.is_named = true;
  } else {
    members.ops = find_ops(file, graph);
  }
  find_borders(members, graph);
  return members;
}

}  // namespace msprobe::torchair
