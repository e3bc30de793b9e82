// SPDX-License-Identifier: Apache-2.0
// What is held against the benchmark: a device of LibTorch, a device of another framework, or what
// the dump recorded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "execute/benchmark.h"

namespace msprobe::execute {

struct GradientPairs {
  std::vector<LeafPair> pairs;
  std::string note = {};               // how recorded gradients were paired
  std::optional<NodePlace> node = {};  // see CallOutcome::backward_node
  std::vector<std::string> left_to_cpu = {};
};

// What the device gave, and which operators its back end left to the CPU meanwhile.
struct DeviceResult {
  PyValue output;
  std::vector<std::string> left_to_cpu = {};
};

class OtherSide {
 public:
  OtherSide() = default;
  OtherSide(const OtherSide&) = delete;
  OtherSide& operator=(const OtherSide&) = delete;
  virtual ~OtherSide() = default;

  // Whether arguments that the call changed in place follow its outputs.
  virtual bool sees_mutations() const { return true; }
  // `bench`: what the benchmark gave, which shows the shape of the result.
  virtual OrSkip<DeviceResult> forward(const PyValue& bench) = 0;
  virtual OrSkip<GradientPairs> backward(const Benchmark& bench, const BenchGradients& gradients,
                                         const PyList& arriving) = 0;
};

// `call` outlives it.
std::unique_ptr<OtherSide> make_other_side(const PreparedCall& call);

std::vector<LeafPair> pair_gradients(const std::vector<Input>& inputs,
                                     const std::vector<PyValue>& bench,
                                     const std::vector<PyValue>& device);

}  // namespace msprobe::execute
