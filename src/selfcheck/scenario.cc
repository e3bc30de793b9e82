#include "selfcheck/scenario.h"

#include <fmt/format.h>

namespace msprobe::selfcheck {
namespace {

// A lost engine is started twice, and a hang is waited for.
constexpr std::size_t kCostlyCalls = 4;
constexpr double kShortTimeout = 2;

// Matrix units that cut are right too, but the strict bound assumes rounding without bias: no
// promise yet.
bool owes_silence(const sim::ProfileRow& row) {
  return !row.cause && row.profile != sim::Profile::kMatrixUnit;
}

Scenario of_profile(const sim::ProfileRow& row) {
  Scenario scenario{.name = std::string(row.name),
                    .group = row.profile == sim::Profile::kExact ? "device" : "profile",
                    .profile = std::string(row.name),
                    .rules = "",
                    .promise = owes_silence(row) ? Promise::kSilence : Promise::kNone,
                    .cause = row.cause};
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
    if (row.profile != sim::Profile::kTf32) continue;
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
