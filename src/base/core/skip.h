// SPDX-License-Identifier: Apache-2.0
// Why a call, or its backward pass, was not checked: a reason that is counted, and a text for a
// person.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace msprobe {

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
  kNotOnDevice,      // the back end of the device left an operator to the CPU
  kNothingRecorded,  // device `recorded`, but the dump holds no output to compare with
  kOutArgument,      // backward only: out= does not support automatic differentiation
  // The call should have been checked, and was lost.
  kBrokenRecord,     // the entry cannot be read
  kBrokenData,       // a tensor file cannot be read or contradicts its record
  kMissingData,      // a tensor file is not there
  kHostile,          // the record asks for a file outside the dump
  kReferenceFailed,  // the user's reference raised an error, or is none
  kOutOfMemory,
  kCrashed,
  kTimedOut,
};
constexpr bool is_lost(SkipReason reason) { return reason >= SkipReason::kBrokenRecord; }

inline constexpr std::array kSkipReasonNames = std::to_array<std::string_view>({
    "none",
    "not_supported",
    "filtered",
    "unknown_api",
    "no_bench",
    "unknown_dtype",
    "argument",
    "no_statistics",
    "bind",
    "bench_failed",
    "device_failed",
    "not_on_device",
    "nothing_recorded",
    "out_argument",
    "broken_record",
    "broken_data",
    "missing_data",
    "hostile",
    "reference_failed",
    "out_of_memory",
    "crashed",
    "timed_out",
});
static_assert(kSkipReasonNames.size() == std::to_underlying(SkipReason::kTimedOut) + 1U);
// For coverage lines: "broken_record".
constexpr std::string_view name(SkipReason reason) {
  return kSkipReasonNames[std::to_underlying(reason)];
}

// The reason that a message begins with; kNone if it begins with none.
constexpr SkipReason reason_of(std::string_view message) {
  const std::string_view word = message.substr(0, message.find(':'));
  for (std::size_t i = 1; i < kSkipReasonNames.size(); ++i) {
    if (word == kSkipReasonNames[i]) return static_cast<SkipReason>(i);
  }
  return SkipReason::kNone;
}

// The operator raised an error on the device, and not on the benchmark, which runs first: it does
// not run there. This is neither a skip nor a lost call.
constexpr bool is_raised(SkipReason reason) { return reason == SkipReason::kDeviceFailed; }

struct Skip {
  SkipReason reason = SkipReason::kNone;
  std::string text;
};

// A value, or the reason why this call goes no further.
template <class T>
using OrSkip = std::expected<T, Skip>;

inline std::unexpected<Skip> skip(SkipReason reason, std::string text) {
  return std::unexpected(Skip{reason, std::move(text)});
}

}  // namespace msprobe
