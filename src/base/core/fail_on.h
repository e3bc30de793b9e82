// SPDX-License-Identifier: Apache-2.0
// --fail-on: which verdicts make a run fail. Lost calls, and operators that do not run on the
// device, always do.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/verdict.h"

namespace msprobe {

enum class FailOn : std::uint8_t {
  kStrict,        // the strict status is warning or error; where there is none, as kError
  kInconclusive,  // the same, or it is a pass that proves little
  kError,         // a documented verdict is error
  kWarning,       // a documented verdict is warning or error
};

inline constexpr std::array<std::string_view, 4> kFailOnNames = {"strict", "inconclusive", "error",
                                                                 "warning"};

// The first, the default, for any other text.
constexpr FailOn parse_fail_on(std::string_view name) {
  for (std::size_t i = 0; i < kFailOnNames.size(); ++i) {
    if (name == kFailOnNames[i]) return static_cast<FailOn>(i);
  }
  return FailOn::kStrict;
}

constexpr bool by_documents(FailOn fail_on) {
  return fail_on == FailOn::kError || fail_on == FailOn::kWarning;
}

// Whether a result, or a call, with these two verdicts counts as failed.
constexpr bool counts_as_failed(FailOn fail_on, std::optional<Verdict> documented,
                                std::optional<Verdict> strict) {
  if (!by_documents(fail_on) && strict) {
    return is_alarm(strict) ||
           (fail_on == FailOn::kInconclusive && strict == Verdict::kInconclusive);
  }
  return documented == Verdict::kError ||
         (fail_on == FailOn::kWarning && documented == Verdict::kWarning);
}

}  // namespace msprobe
