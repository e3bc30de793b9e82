// SPDX-License-Identifier: Apache-2.0
// The benchmark of one call: the CPU in higher precision, run forward and backward.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "execute/execute_call.h"
#include "execute/recorded_gradients.h"
#include "execute/side.h"

namespace msprobe::execute {

// A recorded call, ready to be run by both sides.
struct PreparedCall {
  const dump::CallRecord& record;
  const CallName& name;  // PyTorch's
  const Api& api;
  const ExecuteOptions& options;
  arguments::Arguments arguments = {};
  std::string note = {};  // what was changed in the arguments, for a person
  Precision precision = {};
  bool with_grad = false;
  const Api* reference = nullptr;   // the user's, instead of `api` on the benchmark
  const Api* own_device = nullptr;  // the same on the device: a kernel, or a registered operator
  bool has_kernel = false;          // and it is the user's
};

class Benchmark {
 public:
  explicit Benchmark(const PreparedCall& call);

  std::optional<Skip> forward();
  OrSkip<BenchGradients> backward(const PyList& arriving);
  // The gradients once more, from arguments that lie otherwise in memory.
  OrSkip<BenchGradients> in_layout(Layout layout, const PyList& arriving) const;

  const CallSide& side() const { return side_; }
  PyValue& output() { return output_; }

  // As they are compared: rounded to the recorded dtype where the benchmark is to compute in it,
  // but had to compute in float32.
  PyValue rounded(const PyValue& output) const;
  std::vector<PyValue> rounded_gradients(const BenchGradients& gradients) const;

 private:
  SideOptions run_options() const;
  std::vector<std::size_t> in_signature_order() const;
  OrSkip<PyValue> run();
  OrSkip<PyValue> run_reference();
  const Api& api() const;
  bool raised_instead(const Skip& failed);

  const PreparedCall& call_;
  Precision precision_;
  bool rounds_ = false;  // computes in float32 for lack of a half kernel
  CallSide side_;
  PyValue output_;
};

// None if an input has no gradient.
std::vector<PyValue> as_values(const std::vector<at::Tensor>& gradients);

}  // namespace msprobe::execute
