// SPDX-License-Identifier: Apache-2.0
// A recorded call, run on both sides, and what came out, leaf beside leaf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments/build.h"
#include "arguments/py_value.h"
#include "core/skip.h"
#include "dump/call_record.h"
#include "execute/memory_layout.h"
#include "libtorch/device_calls.h"

namespace msprobe::execute {

using arguments::PyValue;

struct ReplayDialect;
class ForeignDevice;
class UserFunctions;
const ReplayDialect& pytorch_dialect();

struct ExecuteOptions {
  const ReplayDialect* dialect = &pytorch_dialect();
  arguments::BuildOptions arguments;
  at::Device device = at::kCPU;
  bool recorded = false;                    // the device's outputs are those stored in the dump
  ForeignDevice* foreign = nullptr;         // runs the device side instead of LibTorch
  const UserFunctions* user = nullptr;      // references and kernels; null: there are none
  bool raise = true;                        // off: the benchmark computes in the recorded precision
  libtorch::DeviceCalls device_calls = {};  // of the device's library, where it has them

  const ReplaySettings& replay() const { return arguments.replay; }
};

// An autograd node of the benchmark: the last one, if the arguments lie so.
struct NodePlace {
  std::string name;  // "UnsafeViewBackward0"
  Layout layout = Layout::kContiguous;
};

struct LeafPair {
  enum class State : std::uint8_t { kBoth, kDeviceMissing, kKeysDiffer };
  std::string path;  // "0", "1.0"
  State state = State::kBoth;
  PyValue bench;
  PyValue device;
  bool of_keyword = false;  // the gradient of a keyword argument
  bool identical = false;   // tensors that were measured and are: see measure::Metrics
};

// Leaves depth first; a value that is not a list is at "0".
std::vector<LeafPair> pair_leaves(const PyValue& bench, const PyValue& device);

struct CallOutcome {
  arguments::Arguments arguments;  // as built; on the CPU an in-place operator has changed them
  std::vector<LeafPair> forward;
  std::vector<LeafPair> backward;
  arguments::PyList arriving;  // the gradients that were sent backward
  std::optional<Skip> backward_skip;
  std::string note;           // for a person: what was changed before both sides ran
  std::string backward_note;  // how recorded gradients were paired
  // Of `backward`, where these are not the gradients of the arguments but what this node gives.
  std::optional<NodePlace> backward_node;
  // Operators that the device's back end left to the CPU: what is equal there proves nothing.
  std::vector<std::string> forward_left_to_cpu, backward_left_to_cpu;
};

// For a person: "not on the device: its back end leaves aten::lgamma.out to the CPU".
std::string not_on_device_text(const std::vector<std::string>& operators);

OrSkip<CallOutcome> execute_call(const dump::CallRecord& record, const ExecuteOptions& options);

}  // namespace msprobe::execute
