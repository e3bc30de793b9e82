// SPDX-License-Identifier: Apache-2.0
// Scenarios of the simulated device, one change of behaviour each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/faults.h"

namespace msprobe::selfcheck {

// What the strict status promises.
enum class Promise : std::uint8_t {
  kSilence,  // no alarm: nothing is wrong
  kAlarm,    // an alarm for what was changed
  kNone,     // excusable, or an arithmetic whose errors may lie within what rounding explains
};

struct Scenario {
  std::string name;
  std::string group;  // "device", "profile", "fault"
  std::string profile;
  std::string rules;  // the text of --sim-config; empty: none
  Promise promise = Promise::kAlarm;
  std::optional<sim::CauseClass> cause;  // what should be named; none: nothing
  // The dtype in which sums are kept; a cause that names another one is wrong. Empty: any.
  std::string sums_in = {};
  double least_share = 0.99;  // of the injections that must raise an alarm
  // Only results that the exact device gives within one unit of the benchmark count.
  bool rounded_once = false;
  // Results of a half type that are within one unit of the benchmark all the same do not count:
  // its rounding hides the fault.
  bool may_hide = false;
  bool allow_tf32 = false;
  std::size_t calls = 0;        // 0: all of the dump; else the first few, where each one is costly
  double timeout_seconds = 60;  // of a call
};

// The exact device first: the others are compared with it.
std::vector<Scenario> scenarios();

}  // namespace msprobe::selfcheck
