// SPDX-License-Identifier: Apache-2.0
// The gradients a dump recorded, put beside those of the benchmark they are to equal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "execute/execute_call.h"
#include "execute/side.h"

namespace msprobe::execute {

// What the backward pass of the benchmark gave.
struct BenchGradients {
  std::vector<at::Tensor> of_inputs;  // one per input; undefined if it has none
  libtorch::LastNode last;
  // The inputs in the order of the operator's parameters, if whoever recorded the call ran it as
  // one operator of a back end, whatever the benchmark composes it of.
  std::vector<std::size_t> whole_operator = {};
};

struct RecordedGradients {
  std::vector<PyValue> values;  // one per input, or per gradient of the node; None: there is none
  std::string note;             // where they are not in the order of the arguments
  std::vector<at::Tensor> node =
      {};                // not empty: `values` are compared with these, not the inputs'
  NodePlace place = {};  // of `node`
};

// The benchmark once more, with arguments that lie otherwise in memory.
using InLayout = std::function<OrSkip<BenchGradients>(Layout)>;

// A dump lists what the last autograd node of the call computed, in its order. For a function that
// is one operator these are the gradients of its arguments. For a function made of several
// operators they can be transposed, parts of a gradient, or gradients of something in between (a
// cross entropy ends in the node of nll_loss, a product of many dimensions in that of a view). The
// benchmark has the same last node, and shows which: a gradient of that node that equals an
// argument's bit by bit belongs to the argument, the rest is compared with the node's. Only where
// the node depends on how the arguments lay in memory do the recorded numbers decide, and where
// they agree with none of the ways, nothing is known. A fused operator of a back end is one node
// with a place for each of its tensors, empty for those without a gradient.
OrSkip<RecordedGradients> match_gradients(const std::vector<Input>& inputs,
                                          const BenchGradients& bench, const PyList& recorded,
                                          const InLayout& in_layout);

}  // namespace msprobe::execute
