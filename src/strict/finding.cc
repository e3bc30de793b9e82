// SPDX-License-Identifier: Apache-2.0
#include "strict/finding.h"

#include <fmt/format.h>

#include "strict/wording.h"

namespace msprobe::strict {

StrictFinding passed(std::string reason) { return {Verdict::kPass, std::move(reason), ""}; }

StrictFinding wrong(std::string reason, std::string cause) {
  return {Verdict::kError, std::move(reason), std::move(cause)};
}

StrictFinding within(const Scan& found, std::string_view how) {
  if (found.differ == 0) return passed("equal to the rounded benchmark");
  return passed(fmt::format("{} of {} elements differ, by at most {} of the bound{}", found.differ,
                            found.count, number_text(found.worst_inside), how));
}

bool is_alarm(const StrictFinding& finding) {
  return finding.status == Verdict::kError || finding.status == Verdict::kWarning;
}

}  // namespace msprobe::strict
