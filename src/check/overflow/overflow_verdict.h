// SPDX-License-Identifier: Apache-2.0
// Decides from the results of both sides whether the data or the device causes an overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dump/call_record.h"
#include "protocol/measured_call.h"

namespace msprobe::overflow {

enum class OverflowVerdict : std::uint8_t {
  kNormal,         // both sides overflow: the data do
  kAbnormal,       // the device alone overflows
  kNotReproduced,  // neither side does
  kCpuOnly,        // the CPU alone does
  kSkip,
};
std::string_view name(OverflowVerdict verdict);

// Outputs of one direction of a call.
struct Sides {
  bool cpu = false;
  bool device = false;
  std::string first;       // path of the first output that overflows on either side; empty: none
  bool all_none = false;   // both sides gave None and nothing else
  bool all_exact = false;  // Python ints and bools and nothing else: they cannot overflow
  std::string differs;     // why outputs cannot be put side by side; empty: they can
};

// An element that is NaN or infinite has overflowed. On the device, so has one that is the largest
// finite number of its dtype where the CPU gives something else: devices that saturate stop there.
Sides look_at(const std::vector<protocol::MeasuredLeaf>& leaves);

// Whether the values that were recorded overflowed; empty where none were recorded. A value at the
// largest finite number counts, unless `inputs` have it too.
std::optional<bool> recorded_overflow(const dump::List& outputs, const dump::List& inputs);

OverflowVerdict verdict_of(bool cpu, bool device);

}  // namespace msprobe::overflow
