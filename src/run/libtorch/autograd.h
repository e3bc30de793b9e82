// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation with respect to chosen inputs.
#pragma once

#include <string>
#include <vector>

#include "libtorch/aten.h"

namespace msprobe::libtorch {

using Edge = torch::autograd::Edge;

// While it lives, operators of this thread record no graph and build no view bookkeeping: copies
// and conversions of small tensors take half the time.
using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

// Makes a detached tensor one that is differentiated for, though not a leaf: in-place operators may
// change it. No data is copied. The edge names it as it is now.
Edge watch(at::Tensor& tensor);

// The autograd node of a result, and what it handed to the nodes before it, in its own order.
// Collectors that hook the node of an output record this, regardless of the API's arguments.
struct LastNode {
  std::string name;                   // "MulBackward0"
  std::vector<Edge> next;             // where each gradient goes
  std::vector<at::Tensor> gradients;  // undefined if there is none; empty: it did not run
};

// The gradients of `outputs`, weighted by `weights`, with respect to each edge; undefined if an
// edge has no part in them. `last`: what the node of the first output gave meanwhile. Throws what
// the operators throw.
std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& outputs,
                                  const std::vector<at::Tensor>& weights,
                                  const std::vector<Edge>& edges, LastNode* last = nullptr);

}  // namespace msprobe::libtorch
