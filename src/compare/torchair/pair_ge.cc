// SPDX-License-Identifier: Apache-2.0
// GE with fusion against GE without.
#include <fmt/format.h>

#include "ge/file_name.h"
#include "torchair/unit_pairing.h"

namespace msprobe::torchair {
namespace {

void set_pair(TensorRow& row, const GeFile& bench, DumpSide side, std::size_t index,
              MatchRule rule) {
  row.rule = rule;
  row.bench = BenchTensor{.shown = fmt::format("{},{},{}", bench.name, name(side), index),
                          .array = {},
                          .data = bench.data,
                          .side = side,
                          .index = static_cast<std::uint32_t>(index)};
  const auto refuse = [&](const std::string& reason) {
    if (row.outcome == Outcome::kSkipped) return;
    row.outcome = Outcome::kSkipped;
    row.reason = "reference: " + reason;
  };
  if (!bench.problem.empty()) return refuse(bench.problem);
  const auto& tensors = side == DumpSide::kInput ? bench.inputs : bench.outputs;
  if (index >= tensors.size()) {
    row.bench.reset();
    return set_unmatched(row, fmt::format("{} of the reference dump has {} {}s", bench.op_name,
                                          tensors.size(), name(side)));
  }
  row.bench_dtype = tensors[index].dtype;
  row.bench_shape = tensors[index].shape;
  if (!tensors[index].problem.empty()) return refuse(tensors[index].problem);
  if (!tensors[index].unknown.empty()) {
    row.bench.reset();
    return set_unmatched(row, "reference: " + tensors[index].unknown);
  }
  if (row.outcome != Outcome::kSkipped) row.outcome = Outcome::kUndecided;
}

struct Origin {
  MemberOutput output;
  MatchRule rule;
};
std::optional<Origin> origin_and_rule_of(const DumpedOp& op, std::size_t k,
                                         const GraphIndex& graph) {
  if (k < op.file.outputs.size() && op.file.outputs[k].original_op) {
    const ge::OriginalOp& original = *op.file.outputs[k].original_op;
    if (const auto id = graph.find(original.name)) {
      return Origin{{*id, original.output_index}, MatchRule::kOriginalOp};
    }
  }
  if (op.members.ops.size() == 1) {
    return Origin{{op.members.ops.front(), static_cast<std::uint32_t>(k)}, MatchRule::kMember};
  }
  if (k < op.members.outputs.size()) return Origin{op.members.outputs[k], MatchRule::kMember};
  return std::nullopt;
}

void pair_members(DumpedOp& op, const GraphIndex& graph, const GeBench& bench) {
  const auto file_of = [&](OpId member) {
    return bench.find(graph.op(member).name, false, op.execution.number);
  };
  const auto missing = [&](OpId member) {
    return fmt::format("No dump data for op: {} in the reference dump", graph.op(member).name);
  };
  for (std::size_t k = 0; k < op.inputs.size(); ++k) {
    if (k >= op.members.inputs.size() ||
        (op.members.fused() && op.members.inputs.size() != op.inputs.size())) {
      set_unmatched(op.inputs[k],
                    fmt::format("{} inputs in the file, its operators in the graph text have {}",
                                op.inputs.size(), op.members.inputs.size()));
      continue;
    }
    const MemberInput& from = op.members.inputs[k];
    const GeFile* file = file_of(from.member);
    if (file == nullptr) {
      set_unmatched(op.inputs[k], missing(from.member));
    } else {
      set_pair(op.inputs[k], *file, DumpSide::kInput, from.position, MatchRule::kMember);
    }
  }
  for (std::size_t k = 0; k < op.outputs.size(); ++k) {
    const auto from = origin_and_rule_of(op, k, graph);
    const GeFile* file = from ? file_of(from->output.member) : nullptr;
    if (!from) {
      set_unmatched(op.outputs[k], "no member of the fused operator has this output");
    } else if (file == nullptr) {
      set_unmatched(op.outputs[k], missing(from->output.member));
    } else {
      set_pair(op.outputs[k], *file, DumpSide::kOutput, from->output.output, from->rule);
    }
  }
}

}  // namespace

GeBench::GeBench(std::vector<GeFile> files) : files_(std::move(files)) {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!files_[i].name_is_escaped) by_name_[files_[i].op_name].push_back(i);
    by_escaped_name_[ge::escaped(files_[i].op_name)].push_back(i);
  }
}

const GeFile* GeBench::find(const std::string& name, bool is_escaped,
                            std::size_t occurrence) const {
  if (!is_escaped) {
    const auto raw = by_name_.find(name);
    if (raw != by_name_.end()) {
      return occurrence < raw->second.size() ? &files_[raw->second[occurrence]] : nullptr;
    }
  }
  const auto found = by_escaped_name_.find(ge::escaped(name));
  if (found == by_escaped_name_.end() || occurrence >= found->second.size()) return nullptr;
  return &files_[found->second[occurrence]];
}

void pair_with_ge(DumpedOp& op, const GraphIndex& graph, const GeBench& bench) {
  const GeFile* same = bench.find(op.file.op_name, op.file.name_is_escaped, op.execution.number);
  if (same != nullptr) {
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      set_pair(op.inputs[k], *same, DumpSide::kInput, k, MatchRule::kName);
    }
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      set_pair(op.outputs[k], *same, DumpSide::kOutput, k, MatchRule::kName);
    }
    return;
  }
  if (!op.members.ops.empty() && !op.members.is_named) {
    return pair_members(op, graph, bench);
  }
  for (auto* rows : {&op.inputs, &op.outputs}) {
    for (TensorRow& row : *rows)
      set_unmatched(row, "no operator of that name in the reference dump");
  }
}

}  // namespace msprobe::torchair
