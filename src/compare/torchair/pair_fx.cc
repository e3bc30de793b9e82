// SPDX-License-Identifier: Apache-2.0
// GE against FX.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "torchair/unit_pairing.h"

namespace msprobe::torchair {
namespace {

constexpr std::uint64_t kMostElements = 1 << 14;

std::optional<std::vector<double>> small_values(const Result<TensorData>& data) {
  if (!data) return std::nullopt;
  if (data->info) return *data->info;
  if (data->statistics) {
    const ge::TensorStatistics& known = *data->statistics;
    if (!known.min || !known.max) return std::nullopt;
    return std::vector<double>{*known.min, *known.max};
  }
  const ge::Elements& elements = *data->elements;
  if (elements.count > kMostElements || elements.opaque() || is_complex(elements.dtype)) {
    return std::nullopt;
  }
  return all_values(elements);
}

// What the other side is compared with: the range where one side has nothing else. Converted files
// have NaN once an element is NaN, statistics files only where the first is.
void reduce_to_range(std::vector<double>& values, bool like_statistics) {
  if (values.empty()) return;
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (like_statistics ? is_nan(values.front()) : std::ranges::any_of(values, is_nan)) {
    values = {std::nan(""), std::nan("")};
    return;
  }
  std::erase_if(values, is_nan);
  const auto [low, high] = std::ranges::minmax(values);
  values = {low, high};
}

bool close(double a, double b) {
  constexpr double kRounding = 4e-6;  // six digits of a statistics file
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

// Whether an input has the values of an FX array, up to the rounding from double to float: asked if
// position and shape leave it open. Nothing for large tensors and if a side cannot be read.
std::optional<bool> same_values(const GeData* data, std::uint32_t input, const FxArray& array,
                                DumpFiles& files) {
  if (data == nullptr) return std::nullopt;
  const Result<TensorData> device = data->tensor(DumpSide::kInput, input);
  const Result<TensorData> bench = open_array(array.path, array.is_info, files);
  if (!bench && bench.error().kind == ErrorKind::kIo) files.note_unread(bench.error().message);
  std::optional<std::vector<double>> a = small_values(device);
  std::optional<std::vector<double>> b = small_values(bench);
  if (!a || !b) return std::nullopt;
  const bool device_is_range = device->info || device->statistics;
  const bool bench_is_range = bench->info.has_value();
  if (device_is_range && !bench_is_range) reduce_to_range(*b, device->statistics.has_value());
  if (bench_is_range && !device_is_range) reduce_to_range(*a, false);
  return a->size() == b->size() && std::ranges::equal(*a, *b, close);
}

void set_pair(TensorRow& row, const FxArray& array, MatchRule rule) {
  row.rule = rule;
  row.bench = BenchTensor{
      .shown = array.name, .array = array.path, .is_info = array.is_info, .data = nullptr};
  if (array.dtype) row.bench_dtype = name(*array.dtype);
  if (array.dtype && !array.is_info) row.bench_shape = array.shape;
  if (row.outcome == Outcome::kSkipped) return;
  if (!array.problem.empty()) {
    row.outcome = Outcome::kSkipped;
    row.reason = "reference: " + array.problem;
    return;
  }
  row.outcome = Outcome::kUndecided;
}

void pair_output(TensorRow& row, const MemberOutput& from, const GraphIndex& graph, FxFiles& files,
                 const Execution& execution) {
  const auto wanted = parse_fx_tensor_name(graph.fx_name(from.member, from.output));
  if (!wanted) return set_unmatched(row, "output has no FX tensor name");
  const FxArray* array = files.output(*wanted, execution);
  if (array == nullptr) {
    return set_unmatched(row, fmt::format("FX data missing, GE tensor name: {}, FX tensor name: {}",
                                          row.op, graph.fx_name(from.member, from.output)));
  }
  if (!array->is_numeric) return set_unmatched(row, "the FX output is not a tensor");
  set_pair(row, *array, MatchRule::kFxName);
}

// Where output `k` of the dumped operator comes from.
std::optional<MemberOutput> origin_of(const DumpedOp& op, std::size_t k, const GraphIndex& graph) {
  const Members& members = op.members;
  if (!members.is_named && k < op.file.outputs.size() && op.file.outputs[k].original_op) {
    const ge::OriginalOp& original = *op.file.outputs[k].original_op;
    if (const auto id = graph.find(original.name)) return MemberOutput{*id, original.output_index};
  }
  if (members.ops.size() == 1) {
    return MemberOutput{members.ops.front(), static_cast<std::uint32_t>(k)};
  }
  if (k < members.outputs.size()) return members.outputs[k];
  return std::nullopt;
}

void pair_outputs(DumpedOp& op, const GraphIndex& graph, FxFiles& files) {
  for (std::size_t k = 0; k < op.outputs.size(); ++k) {
    const auto from = origin_of(op, k, graph);
    if (!from) {
      set_unmatched(op.outputs[k], "no member of the fused operator has this output");
    } else if (!op.members.fused() && !graph.fx_key(from->member)) {
      set_unmatched(op.outputs[k], "operator has no FX tensor name");
    } else {
      pair_output(op.outputs[k], *from, graph, files, op.execution);
    }
  }
}

// An argument that cannot be read may be the one that was wanted.
std::string no_argument(const FxNode& node) {
  const auto damaged = std::ranges::find_if(
      node.inputs, [](const FxArray& array) { return !array.problem.empty(); });
  if (damaged == node.inputs.end()) return "no FX argument";
  return "no FX argument; one cannot be read: " + damaged->problem;
}

// The inputs of one member that the file holds: edge position -> input of the file.
void pair_member_inputs(DumpedOp& op, OpId member,
                        const std::vector<std::optional<std::size_t>>& held,
                        const GraphIndex& graph, FxFiles& files) {
  const auto refuse_all = [&](const std::string& reason) {
    for (const auto& input : held) {
      if (input) set_unmatched(op.inputs[*input], reason);
    }
  };
  const auto key = graph.fx_key(member);
  if (!key) return refuse_all("operator has no FX tensor name");
  const FxNode* node = files.node(*key, op.execution);
  if (node == nullptr)
    return refuse_all(fmt::format("FX data missing, GE tensor name: {}, FX tensor name: {}",
                                  op.file.op_name, *key));
  std::vector<InputFacts> facts(held.size());
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (!held[i] || *held[i] >= op.file.inputs.size()) continue;
    facts[i].info = &op.file.inputs[*held[i]];
    facts[i].has_values_of = [&op, &files, input = *held[i]](const FxArray& array) {
      return same_values(op.file.data.get(), static_cast<std::uint32_t>(input), array,
                         files.files());
    };
  }
  const std::vector<ArgumentMatch> matches =
      match_arguments(member, facts, *node, graph, files, op.execution);
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (!held[i]) continue;
    if (i >= matches.size() || matches[i].array == nullptr) {
      set_unmatched(op.inputs[*held[i]], no_argument(*node));
    } else {
      set_pair(op.inputs[*held[i]], *matches[i].array, matches[i].rule);
    }
  }
}

}  // namespace

void pair_with_fx(DumpedOp& op, const GraphIndex& graph, FxFiles& files) {
  const Members& members = op.members;
  if (members.ops.empty()) {
    for (TensorRow& row : op.inputs) set_unmatched(row, "operator is not in the graph text");
    for (TensorRow& row : op.outputs) set_unmatched(row, "operator is not in the graph text");
    return;
  }
  pair_outputs(op, graph, files);
  if (members.fused() && members.inputs.size() != op.inputs.size()) {
    for (TensorRow& row : op.inputs) {
      set_unmatched(row,
                    fmt::format("{} inputs in the file, the members of the fused operator have {}",
                                op.inputs.size(), members.inputs.size()));
    }
    return;
  }
  for (const OpId member : members.ops) {
    std::vector<std::optional<std::size_t>> held(graph.op(member).inputs.size());
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (k < members.inputs.size()) {
        if (members.inputs[k].member == member) held[members.inputs[k].position] = k;
      } else {
        set_unmatched(op.inputs[k], "the graph text has no such input");
      }
    }
    pair_member_inputs(op, member, held, graph, files);
  }
}

}  // namespace msprobe::torchair
