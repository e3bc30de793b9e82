// SPDX-License-Identifier: Apache-2.0
// Scores the verdicts against the faults that were put in.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "selfcheck/observed.h"
#include "selfcheck/scenario.h"

namespace msprobe::selfcheck {

// What one run of a scenario left.
struct Evidence {
  DeviceLog log;
  Details details;
  std::map<Pass, Verdict> compared;  // after api_precision_compare, by the exact device
  std::set<std::string> lost;        // calls that the check reports as lost
};

// Something that a verdict should have said, or should not have.
struct Exception {
  std::string row;  // "Functional.linear.0.forward.output.0"
  std::string text;
};

struct Score {
  Scenario scenario;
  std::size_t injections = 0;  // passes whose results are not those of the exact device
  std::size_t documented = 0;  // of these, with an error or warning by the documented ladder
  std::size_t compared = 0;
  std::size_t strict = 0;
  std::size_t rows = 0;    // where nothing was changed: rows that have a strict status
  std::size_t alarms = 0;  // of these, strict alarms
  std::size_t documented_alarms = 0;
  std::size_t graded = 0;  // injections of 256 elements or more with a strict alarm
  std::map<std::string, std::size_t> named;  // class of the named cause -> how often, of the graded
  std::size_t right = 0;
  std::vector<Exception> escapes;  // changed, and the strict status is silent
  std::vector<Exception> false_alarms;
  std::vector<Exception> misnamed;

  double strict_share() const;
  double right_share() const;
  bool as_promised() const;
};

// The class that the text of a `Likely Cause` belongs to; "none" for an empty one.
std::string class_of(std::string_view cause);

// Whether a cause names a dtype of sums, and not `wanted`. "a half type" names none.
bool names_other_sums(std::string_view cause, std::string_view wanted);

// `exact`: what the exact device left.
Score score(const Scenario& scenario, const Evidence& evidence, const Evidence& exact);

}  // namespace msprobe::selfcheck
