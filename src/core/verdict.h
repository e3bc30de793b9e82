// SPDX-License-Identifier: Apache-2.0
// Verdict: the judgement of an output, a gradient or a call, by the documented rules and by the
// strict ones alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace msprobe {

enum class Verdict : std::uint8_t { kPass, kWarning, kError, kSkip };
std::string_view name(Verdict verdict);  // "pass", "warning", "error", "SKIP"
std::optional<Verdict> parse_verdict(std::string_view text);

// Error before warning before pass before SKIP.
Verdict worse(Verdict one, Verdict other);

}  // namespace msprobe
