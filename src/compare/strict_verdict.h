// SPDX-License-Identifier: Apache-2.0
// What the strict status of two devices says of a call that ran on both: which of them to blame.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/verdict.h"

namespace msprobe::compare {

enum class StrictVerdict : std::uint8_t {
  kNone,            // the device's file has no strict status
  kPass,            // the device is right
  kDeviceWrong,     // and the reference device is right, or unknown
  kBothWrong,       // the formula or the input is to blame
  kDocumentedOnly,  // the device is right; the documented comparison fails all the same
  kSkip,            // the strict status could not judge
};

std::string_view name(StrictVerdict verdict);  // "", "pass", "device wrong", ..., "SKIP"

// `documented_fails`: the documented comparison ended in a warning or an error.
StrictVerdict strict_verdict(std::optional<Verdict> device, std::optional<Verdict> reference,
                             bool documented_fails);

// A warning or an error: on a correct device there is none.
bool is_strict_alarm(std::optional<Verdict> strict);

}  // namespace msprobe::compare
