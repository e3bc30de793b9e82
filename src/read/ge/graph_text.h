// SPDX-License-Identifier: Apache-2.0
// The graph text beside a GE dump: ge.proto.GraphDef in protobuf's text format. Only what tells
// which operator made which tensor of the network is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe::ge {

// A tensor an operator reads.
struct GraphEdge {
  std::string producer;
  std::uint32_t output = 0;
  std::string fx_name;  // as the reader's input_desc has it; empty: none
};

struct GraphOp {
  std::string name;
  std::string type;
  std::vector<GraphEdge> inputs;      // without control edges and unfed optional inputs
  std::vector<std::string> fx_names;  // of each output: "add_1-aten.add.Tensor.OUTPUT.0", or empty
};

struct Graph {
  std::string name;
  std::vector<GraphOp> ops;
  std::string problem;  // why the text could not be read to its end; `ops` has the rest
};

// One pass; strings may hold anything. Never fails: a text that breaks off gives what was before.
Graph read_graph_text(std::string_view text);

}  // namespace msprobe::ge
