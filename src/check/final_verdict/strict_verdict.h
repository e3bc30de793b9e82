// SPDX-License-Identifier: Apache-2.0
// Decides which of two devices to blame, from the strict status of a call that ran on both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/skip.h"
#include "core/verdict.h"

namespace msprobe::final_verdict {

enum class StrictVerdict : std::uint8_t {
  kNone,            // the device's file has no strict status
  kPass,            // the device is right
  kDeviceWrong,     // and the reference device is right, or unknown
  kBothWrong,       // the formula or the input is to blame
  kDocumentedOnly,  // the device is right; the documented comparison fails all the same
  kSkip,            // the strict status could not judge
  kRaised,          // the operator does not run on the device
  kLost,            // it should have been checked there, and could not be
  kInconclusive,    // the device is within its bound, which proves little
};
inline constexpr std::size_t kStrictVerdicts = 9;

// "", "pass", "device wrong", ..., "SKIP", "raised", "lost", "inconclusive"
std::string_view name(StrictVerdict verdict);

// Whether the device is to blame, or the formula.
bool is_wrong(StrictVerdict verdict);

// `documented_fails`: the documented comparison ended in a warning or an error.
StrictVerdict strict_verdict(std::optional<Verdict> device, std::optional<Verdict> reference,
                             bool documented_fails);

// kRaised or kLost of a skipped row of the device whose message says so, else as it was.
StrictVerdict with_skip(StrictVerdict verdict, SkipReason reason);

}  // namespace msprobe::final_verdict
