// MeasuredCall: what the engine found out about one recorded call, ready to be judged. Plain data:
// no tensor, no LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tensor.h"
#include "measure/metrics.h"

namespace msprobe::measure {

// Why a call, or its backward pass, was not checked.
enum class SkipReason : std::uint8_t {
  kNone,
  // The call is outside what a check does; nothing is lost.
  kNotSupported,     // Distributed, MindSpeed, a name of another form
  kFiltered,         // black or white list, always-skipped names
  kUnknownApi,       // no such API in the linked PyTorch
  kNoBench,          // an NPU operator without a benchmark definition
  kUnknownDType,     // a dtype this build does not know
  kArgument,         // an argument of a type that cannot be rebuilt
  kNoStatistics,     // random mode, but the record holds no usable Min and Max
  kBind,             // the arguments fit no signature of the API
  kBenchFailed,      // the operator raised an error on the benchmark
  kDeviceFailed,     // the same on the device
  kNothingRecorded,  // device `recorded`, but the dump holds no output to compare with
  kOutArgument,      // backward only: out= does not support automatic differentiation
  // The call should have been checked, and was lost.
  kBrokenRecord,  // the entry cannot be read
  kBrokenData,    // a tensor file cannot be read or contradicts its record
  kMissingData,   // a tensor file is not there
  kHostile,       // the record asks for a file outside the dump
  kOutOfMemory,
  kCrashed,
  kTimedOut,
};
constexpr bool is_lost(SkipReason reason) { return reason >= SkipReason::kBrokenRecord; }

inline constexpr std::array kSkipReasonNames = std::to_array<std::string_view>({
    "none",          "not_supported",    "filtered",      "unknown_api",   "no_bench",
    "unknown_dtype", "argument",         "no_statistics", "bind",          "bench_failed",
    "device_failed", "nothing_recorded", "out_argument",  "broken_record", "broken_data",
    "missing_data",  "hostile",          "out_of_memory", "crashed",       "timed_out",
});
static_assert(kSkipReasonNames.size() == std::to_underlying(SkipReason::kTimedOut) + 1U);
// For coverage lines: "broken_record".
constexpr std::string_view name(SkipReason reason) {
  return kSkipReasonNames[std::to_underlying(reason)];
}

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

struct MeasuredLeaf {
  std::string path;  // "0", "1.0": the place in the output list, or among the gradients
  LeafKind kind = LeafKind::kNone;
  std::string bench_dtype;  // "torch.float64", "<class 'int'>"; empty where there is none
  std::string device_dtype;
  std::optional<DType> dtype;  // the device's, for tensors
  Shape bench_shape;
  Shape device_shape;
  Metrics metrics;         // kTensor
  std::string bench_text;  // kValue: as Python prints it
  std::string device_text;
  bool of_keyword = false;  // the gradient of a keyword argument
  std::optional<DropoutFacts> dropout;
};

struct Skip {
  SkipReason reason = SkipReason::kNone;
  std::string text;
};

struct MeasuredCall {
  std::string full_name;
  std::optional<Skip> skip;  // of the whole call; nothing else holds then
  std::vector<MeasuredLeaf> forward;
  std::vector<MeasuredLeaf> backward;  // empty: no backward pass recorded, or it was skipped
  std::optional<Skip> backward_skip;
  std::string note;  // for a person: how recorded gradients were paired, for example
  bool float8_input = false;
};

}  // namespace msprobe::measure
