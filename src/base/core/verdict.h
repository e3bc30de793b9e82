// SPDX-License-Identifier: Apache-2.0
// Verdict: the judgement of an output, a gradient or a call, by the documented rules and by the
// strict ones alike. Only the strict ones give kInconclusive: a pass that proves little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace msprobe {

enum class Verdict : std::uint8_t { kPass, kWarning, kError, kSkip, kInconclusive };
inline constexpr std::size_t kVerdicts = 5;
// "pass", "warning", "error", "SKIP", "inconclusive"
std::string_view name(Verdict verdict);
std::optional<Verdict> parse_verdict(std::string_view text);

// Error before warning before inconclusive before pass before SKIP.
Verdict worse(Verdict one, Verdict other);

// A warning or an error.
constexpr bool is_alarm(Verdict verdict) {
  return verdict == Verdict::kWarning || verdict == Verdict::kError;
}
constexpr bool is_alarm(std::optional<Verdict> verdict) { return verdict && is_alarm(*verdict); }

}  // namespace msprobe
