// SPDX-License-Identifier: Apache-2.0
#include "strict/finding.h"

#include <fmt/format.h>

#include "strict/wording.h"

namespace msprobe::strict {

StrictFinding passed(std::string reason) { return {Verdict::kPass, std::move(reason), ""}; }

StrictFinding wrong(std::string reason, std::string cause) {
  return {Verdict::kError, std::move(reason), std::move(cause)};
}

StrictFinding equal(std::string reason) {
  StrictFinding finding = passed(std::move(reason));
  finding.error_over_bound = 0;
  return finding;
}

StrictFinding within(const Scan& found, std::string_view how) {
  if (found.differ == 0) return equal("equal to the rounded benchmark");
  const double size = three_digits(found.worst_inside);
  StrictFinding finding =
      passed(fmt::format("{} of {} elements differ, by at most {} of the bound{}", found.differ,
                         found.count, number_text(size), how));
  finding.error_over_bound = size;
  return finding;
}

void doubt(StrictFinding& finding, std::string_view why) {
  finding.status = Verdict::kInconclusive;
  finding.reason = fmt::format("proves little: {}; {}", why, finding.reason);
}

bool is_alarm(const StrictFinding& finding) { return msprobe::is_alarm(finding.status); }

}  // namespace msprobe::strict
