// SPDX-License-Identifier: Apache-2.0
#include "selfcheck/scenario.h"

#include <fmt/format.h>

namespace msprobe::selfcheck {
namespace {

// A lost engine is started twice, and a hang is waited for.
constexpr std::size_t kCostlyCalls = 4;
constexpr double kShortTimeout = 2;

// An element of a half type may be four units off where rounded intermediate results explain it,
// and sums of 13 bits may hide below the rounding of a result of 8 bits.
constexpr double kLeastOfSlight = 0.95;

Scenario of_profile(const sim::ProfileRow& row) {
  Scenario scenario{.name = std::string(row.name),
                    .group = row.profile == sim::SimProfile::kExact ? "device" : "profile",
                    .profile = std::string(row.name),
                    .rules = "",
                    .promise = !row.cause ? Promise::kSilence : Promise::kNone,
                    .cause = row.cause};
  if (row.profile == sim::SimProfile::kBFloat16Accumulate) scenario.sums_in = "torch.bfloat16";
  if (row.profile == sim::SimProfile::kFloat16Accumulate) scenario.sums_in = "torch.float16";
  // What rounds its inputs so is right where the user allows it.
  scenario.allow_tf32 = row.unit.inputs == units::Inputs::kTf32;
  return scenario;
}

Scenario of_fault(const sim::FaultRow& row) {
  Scenario scenario{.name = std::string(row.name),
                    .group = "fault",
                    .profile = "exact",
                    .rules = fmt::format("faults:\n  - fault: {}\n", row.name),
                    .promise = row.excusable ? Promise::kNone : Promise::kAlarm,
                    .cause = row.cause};
  if (row.fault == sim::Fault::kFourUnits) {
    scenario.least_share = kLeastOfSlight;
    scenario.rounded_once = true;
  }
  if (row.fault == sim::Fault::kFewBits) scenario.least_share = kLeastOfSlight;
  if (row.fault == sim::Fault::kCoarseSums) scenario.sums_in = "torch.bfloat16";
  scenario.may_hide = row.fault == sim::Fault::kLostBlock || row.fault == sim::Fault::kLostTerms;
  if (row.cause == sim::CauseClass::kLostCall) {
    scenario.calls = kCostlyCalls;
    scenario.timeout_seconds = kShortTimeout;
  }
  return scenario;
}

}  // namespace

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  for (const sim::ProfileRow& row : sim::profiles()) {
    all.push_back(of_profile(row));
    if (row.profile != sim::SimProfile::kTf32) continue;
    all.push_back(of_profile(row));
    all.back().name = "tf32, allowed";
    all.back().allow_tf32 = true;
    all.back().promise = Promise::kSilence;
    all.back().cause.reset();
  }
  for (const sim::FaultRow& row : sim::faults()) all.push_back(of_fault(row));
  return all;
}

}  // namespace msprobe::selfcheck
