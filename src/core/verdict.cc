// SPDX-License-Identifier: Apache-2.0
#include "core/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

namespace msprobe {
namespace {

constexpr std::array<std::pair<Verdict, std::string_view>, 4> kVerdicts = {{
    {Verdict::kPass, "pass"},
    {Verdict::kWarning, "warning"},
    {Verdict::kError, "error"},
    {Verdict::kSkip, "SKIP"},
}};

}  // namespace

std::string_view name(Verdict verdict) {
  return kVerdicts[static_cast<std::size_t>(verdict)].second;
}

std::optional<Verdict> parse_verdict(std::string_view text) {
  const auto* const found =
      std::ranges::find(kVerdicts, text, &std::pair<Verdict, std::string_view>::second);
  if (found == kVerdicts.end()) return std::nullopt;
  return found->first;
}

Verdict worse(Verdict one, Verdict other) {
  if (one == Verdict::kSkip || other == Verdict::kSkip) return std::min(one, other);
  return std::max(one, other);
}

}  // namespace msprobe
