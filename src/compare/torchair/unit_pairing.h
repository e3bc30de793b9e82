// SPDX-License-Identifier: Apache-2.0
// From the files of one token directory to rows: every tensor of the compared dump with its
// counterpart, or with the reason why it has none.
#pragma once

#include <map>
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

}  // namespace msprobe::torchair
