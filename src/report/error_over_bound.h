// SPDX-License-Identifier: Apache-2.0
// How far an output is off, in units of its strict bound: 1 is the bound itself. The details CSV
// says it in words (strict/wording.cc, strict/judge_call.cc), so it is read from there.
#pragma once

#include <optional>
#include <string_view>

#include "core/verdict.h"
#include "judge/standard.h"

namespace msprobe::report {

inline constexpr std::string_view kErrorOverBound = "Error over bound";

// 0 if the output equals the benchmark; infinite if it is not finite on one side only, or differs
// although nothing may; kNoNumber if the reason gives no number (another shape, a random result).
double error_over_bound(std::optional<Verdict> strict, std::string_view reason);

}  // namespace msprobe::report
