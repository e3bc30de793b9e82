// SPDX-License-Identifier: Apache-2.0
// Finds the operators of the graph text that a dumped operator stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "torchair/ge_files.h"
#include "torchair/graph_index.h"

namespace msprobe::torchair {

// A data edge into one of the members, counted among the member's own inputs.
struct MemberInput {
  OpId member = 0;
  std::size_t position = 0;
};
struct MemberOutput {
  OpId member = 0;
  std::uint32_t output = 0;
};

struct Members {
  std::vector<OpId> ops;  // in the order of the joined name; empty: GE made the operator itself
  std::vector<MemberInput> inputs;    // edges from outside, in edge order
  std::vector<MemberOutput> outputs;  // results read outside, in edge order
  bool is_named = false;              // the operator has its own name in the graph text

  bool fused() const { return ops.size() > 1; }
};

Members find_members(const GeFile& file, const GraphIndex& graph);

// `name` as a complete sequence of graph operators: the fewest, and of those the one whose
// neighbours read each other. Empty if there is none.
std::vector<OpId> split_joined_name(const std::string& name, bool is_escaped,
                                    const GraphIndex& graph);

}  // namespace msprobe::torchair
