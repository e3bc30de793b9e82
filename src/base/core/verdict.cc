// SPDX-License-Identifier: Apache-2.0
#include "core/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

namespace msprobe {
namespace {

constexpr std::array<std::pair<Verdict, std::string_view>, kVerdicts> kNames = {{
    {Verdict::kPass, "pass"},
    {Verdict::kWarning, "warning"},
    {Verdict::kError, "error"},
    {Verdict::kSkip, "SKIP"},
    {Verdict::kInconclusive, "inconclusive"},
}};

}  // namespace

std::string_view name(Verdict verdict) { return kNames[static_cast<std::size_t>(verdict)].second; }

std::optional<Verdict> parse_verdict(std::string_view text) {
  const auto* const found =
      std::ranges::find(kNames, text, &std::pair<Verdict, std::string_view>::second);
  if (found == kNames.end()) return std::nullopt;
  return found->first;
}

Verdict worse(Verdict one, Verdict other) {
  constexpr std::array kBestFirst = {Verdict::kSkip, Verdict::kPass, Verdict::kInconclusive,
                                     Verdict::kWarning, Verdict::kError};
  const auto rank = [&](Verdict verdict) { return std::ranges::find(kBestFirst, verdict); };
  return std::max(one, other, [&](Verdict a, Verdict b) { return rank(a) < rank(b); });
}

}  // namespace msprobe
