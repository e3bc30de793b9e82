// SPDX-License-Identifier: Apache-2.0
// The findings that several steps of the strict status give.
#pragma once

#include <string>
#include <string_view>

#include "core/strict.h"
#include "strict/scan.h"

namespace msprobe::strict {

// Up to this many bounds an excess is a warning.
inline constexpr double kWarningExcess = 4;

StrictFinding passed(std::string reason);
StrictFinding equal(std::string reason);  // no element differs
StrictFinding wrong(std::string reason, std::string cause = "");

// All elements are within their bound; `how`: where that comes from, ", from ...".
StrictFinding within(const Scan& found, std::string_view how);

// A pass that proves little is inconclusive.
void doubt(StrictFinding& finding, std::string_view why);

bool is_alarm(const StrictFinding& finding);
// A pass, whatever it proves.
constexpr bool is_right(const StrictFinding& finding) {
  return finding.status == Verdict::kPass || finding.status == Verdict::kInconclusive;
}

// What was compared last, and with which limits.
struct Tried {
  Limits limits;
  Scan found;
};

}  // namespace msprobe::strict
