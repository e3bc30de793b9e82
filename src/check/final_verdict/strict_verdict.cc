// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/strict_verdict.h"

namespace msprobe::final_verdict {

std::string_view name(StrictVerdict verdict) {
  constexpr std::string_view kNames[] = {
      "",     "pass",   "device wrong", "both wrong",  "documented only",
      "SKIP", "raised", "lost",         "inconclusive"};
  return kNames[static_cast<std::size_t>(verdict)];
}

bool is_wrong(StrictVerdict verdict) {
  return verdict == StrictVerdict::kDeviceWrong || verdict == StrictVerdict::kBothWrong ||
         verdict == StrictVerdict::kRaised || verdict == StrictVerdict::kLost;
}

StrictVerdict strict_verdict(std::optional<Verdict> device, std::optional<Verdict> reference,
                             bool documented_fails) {
  if (!device) return StrictVerdict::kNone;
  if (is_alarm(device)) {
    return is_alarm(reference) ? StrictVerdict::kBothWrong : StrictVerdict::kDeviceWrong;
  }
  if (*device == Verdict::kInconclusive) return StrictVerdict::kInconclusive;
  if (documented_fails) return StrictVerdict::kDocumentedOnly;
  return *device == Verdict::kPass ? StrictVerdict::kPass : StrictVerdict::kSkip;
}

StrictVerdict with_skip(StrictVerdict verdict, SkipReason reason) {
  if (is_raised(reason)) return StrictVerdict::kRaised;
  return is_lost(reason) ? StrictVerdict::kLost : verdict;
}

}  // namespace msprobe::final_verdict
