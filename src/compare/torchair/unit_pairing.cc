// SPDX-License-Identifier: Apache-2.0
#include "torchair/unit_pairing.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "torchair/op_flow.h"

namespace msprobe::torchair {
namespace {

// Operators that GE inserts, and what they read and write.
struct InsertedOp {
  std::string_view type;
  std::size_t inputs;
  std::size_t outputs;
};
constexpr std::array<InsertedOp, 7> kInsertedOps = {{{"TransData", 1, 1},
                                                     {"Cast", 1, 1},
                                                     {"Identity", 1, 1},
                                                     {"TransposeD", 1, 1},
                                                     {"MemSet", 0, 1},
                                                     {"AtomicAddrClean", 0, 1},
                                                     {"DynamicAtomicAddrClean", 0, 1}}};

// Which sides the dump has at all: dump_mode may leave one out everywhere.
struct DumpedSides {
  bool inputs = false;
  bool outputs = false;
};
DumpedSides dumped_sides(const std::vector<GeFile>& files) {
  DumpedSides sides;
  for (const GeFile& file : files) {
    sides.inputs = sides.inputs || !file.inputs.empty();
    sides.outputs = sides.outputs || !file.outputs.empty();
  }
  if (!sides.inputs && !sides.outputs) return {true, true};
  return sides;
}

TensorRow new_row(const UnitPair& unit, const GeFile& file, const std::string& op, DumpSide side,
                  std::size_t index) {
  TensorRow row;
  row.rank = unit.rank;
  row.graph = unit.graph;
  row.token = unit.token;
  row.op = op;
  row.type = file.op_type;
  row.file = file.name;
  row.side = side;
  row.index = static_cast<std::uint32_t>(index);
  return row;
}

std::vector<TensorRow> rows_of(const UnitPair& unit, const GeFile& file, const std::string& op,
                               DumpSide side) {
  std::vector<TensorRow> rows;
  const auto& tensors = side == DumpSide::kInput ? file.inputs : file.outputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    TensorRow& row = rows.emplace_back(new_row(unit, file, op, side, i));
    row.dtype = tensors[i].dtype;
    row.shape = tensors[i].shape;
    row.format = tensors[i].format;
    if (!tensors[i].problem.empty()) {
      row.outcome = Outcome::kSkipped;
      row.reason = tensors[i].problem;
    }
    if (file.paths.size() > 1 && tensors[i].problem.empty() && tensors[i].unknown.empty()) {
      row.message = fmt::format("put together from {} slices", file.paths.size());
    }
  }
  return rows;
}

// Rows for the tensors that a damaged file should hold.
std::vector<TensorRow> lost_rows(const UnitPair& unit, const GeFile& file, const std::string& op,
                                 DumpSide side, std::size_t count, const std::string& reason) {
  std::vector<TensorRow> rows;
  for (std::size_t i = 0; i < count; ++i) {
    TensorRow& row = rows.emplace_back(new_row(unit, file, op, side, i));
    row.outcome = Outcome::kSkipped;
    row.reason = reason;
  }
  return rows;
}

// The operator of a file whose content was never a dump, if GE inserts operators of its type:
// there is nothing damaged that could have been compared.
const InsertedOp* foreign_insertion(const DumpedOp& dumped) {
  if (!dumped.members.ops.empty() || !dumped.file.is_foreign) return nullptr;
  const auto known = std::ranges::find(kInsertedOps, dumped.file.op_type, &InsertedOp::type);
  return known == kInsertedOps.end() ? nullptr : &*known;
}

// A row for every tensor that the graph text lists, one for the file where it does not know it.
void add_lost_rows(DumpedOp& dumped, const UnitPair& unit, const std::string& op,
                   const DumpedSides& sides, const std::string& reason) {
  const Members& members = dumped.members;
  std::size_t inputs = members.inputs.size();
  std::size_t outputs = members.outputs.size();
  if (const InsertedOp* known = foreign_insertion(dumped)) {
    inputs = known->inputs;
    outputs = known->outputs;
  } else if (members.ops.empty()) {
    dumped.outputs = lost_rows(unit, dumped.file, op, DumpSide::kOutput, 1, reason);
    return;
  }
  if (sides.inputs)
    dumped.inputs = lost_rows(unit, dumped.file, op, DumpSide::kInput, inputs, reason);
  if (sides.outputs)
    dumped.outputs = lost_rows(unit, dumped.file, op, DumpSide::kOutput, outputs, reason);
}

void refuse_foreign(DumpedOp& dumped) {
  if (foreign_insertion(dumped) == nullptr) return;
  for (auto* rows : {&dumped.inputs, &dumped.outputs}) {
    for (TensorRow& row : *rows) {
      if (row.outcome != Outcome::kSkipped || row.bench) continue;
      row.outcome = Outcome::kUnmatched;
      row.reason = fmt::format("operator is not in the graph text; {}", row.reason);
    }
  }
}

// A file without an end mark that names fewer tensors than the graph knows was cut between two.
std::string cut_off(const DumpedOp& dumped, const DumpedSides& sides) {
  if (!dumped.file.may_be_cut || dumped.members.ops.empty()) return {};
  const bool fewer_inputs =
      sides.inputs && dumped.file.inputs.size() < dumped.members.inputs.size();
  const bool fewer_outputs =
      sides.outputs && dumped.file.outputs.size() < dumped.members.outputs.size();
  if (!fewer_inputs && !fewer_outputs) return {};
  return fmt::format("the file ends early: {} inputs and {} outputs, the graph text has {} and {}",
                     dumped.file.inputs.size(), dumped.file.outputs.size(),
                     dumped.members.inputs.size(), dumped.members.outputs.size());
}

// As the graph text spells it, where the file has only the name of a file.
std::string shown_name(const GeFile& file, const Members& members, const GraphIndex& graph) {
  if (!file.name_is_escaped) return file.op_name;
  std::string joined;
  for (const OpId member : members.ops) joined += graph.op(member).name;
  return ge::escaped(joined) == file.op_name ? joined : file.op_name;
}

// The place of an operator in the graph: that of its last member. Operators that are not in
// the graph follow the one that ran before them.
std::vector<std::size_t> graph_places(const std::vector<DumpedOp>& ops) {
  std::vector<std::size_t> places;
  std::size_t latest = 0;
  for (const DumpedOp& op : ops) {
    if (!op.members.ops.empty()) latest = std::ranges::max(op.members.ops) + 1;
    places.push_back(latest);
  }
  return places;
}

void add_stacks(DumpedOp& op, const GraphIndex& graph, const StackInfo& stacks) {
  if (stacks.empty()) return;
  std::string text;
  for (const OpId member : op.members.ops) {
    const auto key = graph.fx_key(member);
    if (!key) continue;
    const auto found = stacks.find(key->substr(0, key->find('-')));
    if (found != stacks.end() && text.find(found->second) == std::string::npos) {
      text += (text.empty() ? "" : " | ") + found->second;
    }
  }
  for (TensorRow& row : op.inputs) row.stack = text;
  for (TensorRow& row : op.outputs) row.stack = text;
}

std::vector<std::string> unused_names(std::vector<std::string> names,
                                      const std::set<std::string>& used) {
  std::erase_if(names, [&](const std::string& name) { return used.contains(name); });
  return names;
}

// Slices that cannot be joined are unmatched.
void refuse_unknown(DumpedOp& op) {
  const auto refuse = [](std::vector<TensorRow>& rows, const std::vector<GeTensorInfo>& tensors) {
    for (std::size_t i = 0; i < rows.size() && i < tensors.size(); ++i) {
      if (tensors[i].unknown.empty()) continue;
      rows[i].outcome = Outcome::kUnmatched;
      rows[i].reason = tensors[i].unknown;
      rows[i].bench.reset();
    }
  };
  refuse(op.inputs, op.file.inputs);
  refuse(op.outputs, op.file.outputs);
}

// An operator that is dumped under its own name was not renamed: what else bears its name or names
// it as origin, GE made beside it.
void leave_out_second_claims(std::vector<DumpedOp>& ops) {
  std::set<OpId> named;
  for (const DumpedOp& op : ops) {
    if (op.members.is_named) named.insert(op.members.ops.front());
  }
  for (DumpedOp& op : ops) {
    const Members& members = op.members;
    if (members.is_named || members.ops.size() != 1) continue;
    if (named.contains(members.ops.front())) op.members = {};
  }
}

// The compared side of a unit: its operators with empty pairs.
std::vector<DumpedOp> dumped_ops(const UnitPair& unit, const std::vector<GeFile>& files,
                                 const GraphIndex& graph) {
  const DumpedSides sides = dumped_sides(files);
  std::vector<DumpedOp> ops;
  for (const GeFile& file : files) {
    ops.push_back(DumpedOp{file, find_members(file, graph), {}, {}, {}});
  }
  leave_out_second_claims(ops);
  for (DumpedOp& op : ops) {
    const GeFile& file = op.file;
    const std::string name = shown_name(file, op.members, graph);
    const std::string problem = file.problem.empty() ? cut_off(op, sides) : file.problem;
    if (!problem.empty()) {
      add_lost_rows(op, unit, name, sides, problem);
    } else {
      op.inputs = rows_of(unit, file, name, DumpSide::kInput);
      op.outputs = rows_of(unit, file, name, DumpSide::kOutput);
    }
  }
  // Under the name of the graph text, which is there for a damaged file too.
  std::map<std::string, std::size_t> executions;
  const auto name_of = [&](const DumpedOp& op) { return shown_name(op.file, op.members, graph); };
  for (DumpedOp& op : ops) op.execution.number = executions[name_of(op)]++;
  for (DumpedOp& op : ops) op.execution.of = executions[name_of(op)];
  return ops;
}

OpRows op_rows(DumpedOp& op) {
  OpRows rows;
  rows.data = op.file.data;
  std::ranges::move(op.inputs, std::back_inserter(rows.rows));
  std::ranges::move(op.outputs, std::back_inserter(rows.rows));
  for (const fs::path& path : op.file.paths) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (!error) rows.bytes += size;
  }
  return rows;
}

}  // namespace

GraphIndex load_graph(const UnitPair& unit, std::vector<std::string>& notes, DumpFiles& files) {
  if (!unit.graph_file) {
    notes.push_back(fmt::format("no graph text for graph {} of rank {}", unit.graph, unit.rank));
    return GraphIndex({});
  }
  const Result<FileBytes> file = files.load(*unit.graph_file);
  if (!file) {
    files.note_unread(file.error().message);
    return GraphIndex({});
  }
  GraphIndex graph(ge::read_graph_text(file->text()));
  if (!graph.problem().empty()) {
    notes.push_back(fmt::format("{}: {}", unit.graph_file->filename().string(), graph.problem()));
  }
  return graph;
}

UnitPairing pair_unit(const UnitPair& unit, bool bench_is_fx, const GraphIndex& graph,
                      const StackInfo& stacks, int threads, DumpFiles& dump_files) {
  UnitPairing pairing;
  const std::vector<GeFile> files = list_ge_files(unit.device, threads, dump_files);
  std::vector<DumpedOp> ops = dumped_ops(unit, files, graph);
  std::set<std::string> used;
  std::vector<std::string> bench_names;
  if (bench_is_fx) {
    FxFiles bench = FxFiles::open(unit.bench, dump_files);
    for (DumpedOp& op : ops) {
      pair_with_fx(op, graph, bench);
      for (const OpId member : op.members.ops) used.insert(graph.fx_key(member).value_or(""));
    }
    bench_names = bench.keys();
    const auto repeated = bench.repeated();
    if (bench.left_out_a_dump()) {
      const auto older = bench.only_older();
      const std::string lacks =
          older.empty() ? ""
                        : fmt::format(", which lacks {} nodes of the older one ({}, ...)",
                                      older.size(), older.front());
      pairing.notes.push_back(
          fmt::format("{}: two dumps in one directory: {} nodes occur more than once; the "
                      "newest is compared{}; use a new directory for each dump",
                      unit.bench.string(), repeated.size(), lacks));
    } else if (!repeated.empty()) {
      pairing.notes.push_back(
          fmt::format("{}: {} nodes were dumped more than once ({}, ...); runs are compared with "
                      "the executions of their operator in order",
                      unit.bench.string(), repeated.size(), repeated.front()));
    }
  } else {
    const GeBench bench(list_ge_files(unit.bench, threads, dump_files));
    for (DumpedOp& op : ops) {
      pair_with_ge(op, graph, bench);
      used.insert(op.file.op_name);
      for (const OpId member : op.members.ops) used.insert(graph.op(member).name);
    }
    for (const GeFile& file : bench.files()) bench_names.push_back(file.op_name);
  }
  pairing.bench_only = unused_names(std::move(bench_names), used);
  const std::vector<std::size_t> places = graph_places(ops);
  std::vector<std::size_t> order(ops.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return places[i]; });
  std::vector<const Members*> members;
  for (const std::size_t i : order) members.push_back(&ops[i].members);
  std::vector<std::vector<std::uint32_t>> sources = sources_of(members, graph);
  for (const std::size_t i : order) {
    refuse_foreign(ops[i]);
    refuse_unknown(ops[i]);
    add_stacks(ops[i], graph, stacks);
    pairing.ops.push_back(op_rows(ops[i]));
    pairing.ops.back().sources = std::move(sources[pairing.ops.size() - 1]);
  }
  return pairing;
}

}  // namespace msprobe::torchair
