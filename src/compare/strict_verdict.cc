// SPDX-License-Identifier: Apache-2.0
#include "compare/strict_verdict.h"

namespace msprobe::compare {

std::string_view name(StrictVerdict verdict) {
  constexpr std::string_view kNames[] = {
      "", "pass", "device wrong", "both wrong", "documented only", "SKIP"};
  return kNames[static_cast<std::size_t>(verdict)];
}

bool is_strict_alarm(std::optional<Verdict> strict) {
  return strict == Verdict::kWarning || strict == Verdict::kError;
}

StrictVerdict strict_verdict(std::optional<Verdict> device, std::optional<Verdict> reference,
                             bool documented_fails) {
  if (!device) return StrictVerdict::kNone;
  if (is_strict_alarm(device)) {
    return is_strict_alarm(reference) ? StrictVerdict::kBothWrong : StrictVerdict::kDeviceWrong;
  }
  if (documented_fails) return StrictVerdict::kDocumentedOnly;
  return *device == Verdict::kPass ? StrictVerdict::kPass : StrictVerdict::kSkip;
}

}  // namespace msprobe::compare
