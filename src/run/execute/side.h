// SPDX-License-Identifier: Apache-2.0
// One side of a call: its own copy of the arguments, run forward and backward.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/skip.h"
#include "execute/api.h"
#include "execute/precision.h"
#include "libtorch/autograd.h"

namespace msprobe::execute {

struct Input {
  bool of_keyword = false;
  bool in_list = false;  // a member of a list or dictionary
  libtorch::Edge edge;   // invalid: not differentiated for
};

struct CallSide {
  PyCall call;
  std::vector<Input> inputs;  // every tensor: positional ones depth first, then keyword ones
};

// What becomes of a floating tensor in raised precision, a copy that may be changed in place;
// `recorded`: the dtype it was rounded to.
using TensorChange = std::function<at::Tensor(const at::Tensor& raised, at::ScalarType recorded)>;

// Copies in raised precision, rounded first where autocast would round, changed where asked for.
CallSide bench_side(const PyCall& call, const Precision& precision, bool with_grad,
                    const TensorChange& change = {});
// As recorded, on `device`. On the CPU the tensors are those of `call` itself, not copies.
CallSide device_side(const PyCall& call, at::Device device, bool with_grad);

struct SideOptions {
  std::uint64_t seed = 0;
  c10::optional<at::ScalarType> autocast;
  at::Device device = at::kCPU;
};

// The one place where what LibTorch throws becomes a value. `reason` is kBenchFailed or
// kDeviceFailed.
OrSkip<PyValue> run_forward(const Api& api, const CallSide& side, const SideOptions& options,
                            SkipReason reason);

// One gradient per input; undefined if it has none. `arriving`: the gradients at the outputs,
// None if an output has none. `last`: what the node of the first differentiable output gave.
OrSkip<std::vector<at::Tensor>> run_backward(const CallSide& side, const PyValue& output,
                                             const PyList& arriving, SkipReason reason,
                                             libtorch::LastNode* last = nullptr);

}  // namespace msprobe::execute
