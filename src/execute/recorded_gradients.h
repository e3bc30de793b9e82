// SPDX-License-Identifier: Apache-2.0
// The gradients a dump recorded, put beside the inputs they belong to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "execute/side.h"

namespace msprobe::execute {

struct RecordedGradients {
  std::vector<PyValue>
      values;        // one per input, or per gradient of the node; None where there is none
  std::string note;  // where they are not in the order of the arguments
  std::vector<at::Tensor> node;  // not empty: `values` stand beside these, not beside the inputs'
};

// Gives the gradients of the last autograd node (run_last_node); empty where it cannot.
using NodeGradients = std::function<std::vector<at::Tensor>()>;

// A dump lists what the last autograd node computed: in its order, which is not always that of the
// arguments, sometimes transposed, and sometimes not of the arguments at all (a cross entropy ends
// in the node of nll_loss, a product of many dimensions in that of a view). The order of the
// arguments is tried first; where it does not fit in shape, or another one agrees better with the
// benchmark, that one counts.
OrSkip<RecordedGradients> match_gradients(const std::vector<Input>& inputs,
                                          const std::vector<at::Tensor>& bench,
                                          const PyList& recorded, const NodeGradients& node);

}  // namespace msprobe::execute
