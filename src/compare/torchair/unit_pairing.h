// SPDX-License-Identifier: Apache-2.0
// From the files of one token directory to rows: every tensor of the compared dump with its
// counterpart, or with the reason why it has none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "torchair/fx_files.h"
#include "torchair/ge_files.h"
#include "torchair/graph_index.h"
#include "torchair/members.h"
#include "torchair/stack_info.h"
#include "torchair/tensor_row.h"
#include "torchair/unit_plan.h"

namespace msprobe::torchair {

struct UnitPairing {
  std::vector<OpRows> ops;              // in graph order
  std::vector<std::string> bench_only;  // reference nodes or operators nothing is compared with
  std::vector<std::string> notes;
};

UnitPairing pair_unit(const UnitPair& unit, bool bench_is_fx, const GraphIndex& graph,
                      const StackInfo& stacks, int threads, DumpFiles& files);

// An empty graph if there is no text or it cannot be read, which is noted.
GraphIndex load_graph(const UnitPair& unit, std::vector<std::string>& notes, DumpFiles& files);

// The parts of it, for one dump file each; the row has its identity, the rest is filled in.
struct DumpedOp {
  const GeFile& file;
  Members members;
  Execution execution;
  std::vector<TensorRow> inputs;
  std::vector<TensorRow> outputs;
};
void pair_with_fx(DumpedOp& op, const GraphIndex& graph, FxFiles& files);

class GeBench {
 public:
  explicit GeBench(std::vector<GeFile> files);
  // The `occurrence`-th execution of an operator; nullptr if there is none.
  const GeFile* find(const std::string& name, bool is_escaped, std::size_t occurrence) const;
  const std::vector<GeFile>& files() const { return files_; }

 private:
  std::vector<GeFile> files_;
  std::map<std::string, std::vector<std::size_t>> by_name_;
  std::map<std::string, std::vector<std::size_t>> by_escaped_name_;
};
void pair_with_ge(DumpedOp& op, const GraphIndex& graph, const GeBench& bench);

// What is known of one input of the operator on the compared side.
struct InputFacts {
  const GeTensorInfo* info = nullptr;  // nothing for an edge inside a fused operator
  // Whether the tensor has the values of an array; only asked of small ones. Empty: not known.
  std::function<std::optional<bool>(const FxArray&)> has_values_of;
};

struct ArgumentMatch {
  const FxArray* array = nullptr;  // nullptr: no argument is this input
  MatchRule rule = MatchRule::kNone;
};

// One entry for each edge of `op`. An input that an operator with an FX name produced is the
// argument with that value; graph inputs and constants go by position where the shape fits, else by
// shape and value. What a helper operator computed is not an FX argument.
std::vector<ArgumentMatch> match_arguments(OpId op, const std::vector<InputFacts>& inputs,
                                           const FxNode& node, const GraphIndex& graph,
                                           FxFiles& files, const Execution& execution);

}  // namespace msprobe::torchair
