// SPDX-License-Identifier: Apache-2.0
// MeasuredCall: what the engine found out about one recorded call, ready to be judged. Plain data:
// no tensor, no LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/python_value.h"
#include "core/skip.h"
#include "core/strict.h"
#include "core/tensor.h"
#include "measure/metrics.h"

namespace msprobe::protocol {

// What was compared at one leaf of the outputs or of the gradients.
enum class LeafKind : std::uint8_t {
  kTensor,         // two tensors of equal shape: metrics hold
  kShapesDiffer,   // two tensors, not of equal shape
  kValue,          // two numbers, truth values or texts
  kNone,           // the benchmark gave None
  kTypesDiffer,    // a tensor against a number, a list against a tensor, ...
  kDeviceMissing,  // the device gave fewer outputs
  kKeysDiffer,     // dictionaries with other keys
};

// Only for calls of the dropout family, which are judged by their share of zeros.
struct DropoutFacts {
  std::uint64_t bench_zeros = 0;
  std::uint64_t device_zeros = 0;
  std::optional<double> probability;  // p as the call gives it; 0 where training is off
};

// What one side gave.
struct LeafSide {
  std::optional<DType> dtype;  // of a tensor
  Shape shape;                 // of a tensor
  // Not of a tensor; or the type of a tensor whose dtype is not one of ours.
  std::optional<PythonValue> value;

  // As Python prints it: "torch.float64", "<class 'int'>"; empty if nothing is known.
  std::string_view type() const {
    if (dtype) return text(*dtype);
    return value ? python_type(*value) : std::string_view();
  }
};

struct MeasuredLeaf {
  std::string path;  // "0", "1.0": the place in the output list, or among the gradients
  LeafKind kind = LeafKind::kNone;
  LeafSide bench;
  LeafSide device;
  measure::Metrics metrics;  // kTensor
  bool of_keyword = false;   // the gradient of a keyword argument
  std::optional<DropoutFacts> dropout;
  std::optional<StrictFinding> strict;  // where it was asked for
};

struct MeasuredCall {
  std::string full_name;
  std::optional<Skip> skip;  // of the whole call; nothing else holds then
  std::vector<MeasuredLeaf> forward;
  std::vector<MeasuredLeaf> backward;  // empty: no backward pass recorded, or it was skipped
  std::optional<Skip> backward_skip;
  std::string note;           // for a person: what was changed before both sides ran
  std::string backward_note;  // how recorded gradients were paired
  bool float8_input = false;
};

}  // namespace msprobe::protocol
