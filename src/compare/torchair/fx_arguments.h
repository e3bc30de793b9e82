// SPDX-License-Identifier: Apache-2.0
// Which FX argument each input of a graph operator is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "torchair/fx_files.h"
#include "torchair/ge_files.h"
#include "torchair/graph_index.h"
#include "torchair/tensor_row.h"

namespace msprobe::torchair {

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
