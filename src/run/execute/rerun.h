// SPDX-License-Identifier: Apache-2.0
// The benchmark of a recorded call once more, with something changed: how far its outputs depend on
// what cannot be known (the rounding of its inputs, the seed, the precision of its intermediates).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/call_name.h"
#include "execute/execute_call.h"
#include "execute/side.h"

namespace msprobe::execute {

struct Variation {
  // Of each floating tensor that goes in, arguments and arriving gradients, in the precision it is
  // computed in; `recorded`: the dtype it was rounded to before. Empty: nothing.
  TensorChange change = {};
  TensorChange change_arriving = {};          // of the arriving gradients; `change` where empty
  std::function<void(PyCall&)> edit = {};     // of the arguments, before they are raised
  std::optional<std::uint64_t> seed = {};     // of random operators; the run's own where empty
  bool raise = true;                          // off: in the recorded precision, as a device would
  c10::optional<at::ScalarType> target = {};  // of the raised tensors; the benchmark's where empty
  bool adjust = true;                         // as ExecuteOptions::arguments.adjust
  bool forward_only = false;
  // The path of the one that is wanted. REQUIRES: the gradients are those of the arguments.
  std::optional<std::string> only_gradient = {};
};

// A leaf has the path it has in CallOutcome.
struct Leaf {
  std::string path;
  PyValue value;
};

struct Leaves {
  std::vector<Leaf> forward;
  std::vector<Leaf> backward;
  bool random = false;  // the forward pass drew random numbers
};

class Rerun {
 public:
  // REQUIRES: both outlive this, and execute_call(record, options) worked. `node`: what stands for
  // the gradients, as CallOutcome::backward_node.
  Rerun(const dump::CallRecord& record, const ExecuteOptions& options,
        std::optional<NodePlace> node = {});
  // The gradients that arrived, so that they need not be built again. Nothing changes them.
  void take_arriving(const PyList& arriving) { arriving_ = arriving; }

  OrSkip<Leaves> run(const Variation& variation);
  int runs() const { return runs_; }  // so far
  // The gradients are those of a node inside the call, not of its arguments.
  bool of_node() const { return node_.has_value(); }
  // The arguments, never changed by a run. They are built once.
  OrSkip<const PyCall*> arguments();
  OrSkip<const PyList*> arriving();
  // What `tensor`, an argument, was rounded to before the benchmark raised it.
  at::ScalarType recorded_type(const at::Tensor& tensor);
  // What the benchmark computes in where the recorded dtype is `type`.
  at::ScalarType raised_type(at::ScalarType type, const Variation& variation);

 private:
  OrSkip<PyCall> built(bool adjust) const;
  const Precision& precision();
  PyValue compared(const PyValue& output) const;
  Precision precision_for(const Variation& variation);
  TensorChange in_layout(const TensorChange& change) const;
  std::vector<at::Tensor> gradients(const CallSide& side, const PyValue& output,
                                    const PyList& arriving) const;

  const dump::CallRecord& record_;
  const ExecuteOptions& options_;
  CallName recorded_name_;
  CallName name_;  // PyTorch's
  std::optional<NodePlace> node_;
  std::optional<OrSkip<PyCall>> call_;
  std::optional<OrSkip<PyList>> arriving_;
  std::optional<Precision> precision_;
  int runs_ = 0;
  const Api* reference_ = nullptr;  // the user's; null: none
  bool drawn_ = false;              // a run drew random numbers
};

}  // namespace msprobe::execute
