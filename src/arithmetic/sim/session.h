// SPDX-License-Identifier: Apache-2.0
// The settings of the device: its arithmetic, its faults, the current call, and where it logs what
// it did.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sim/rules.h"

namespace msprobe::sim {

struct Setup {
  std::string profile;  // as parse_profile() reads it; empty: exact
  std::string config;   // file of rules; empty: none
  std::string log;      // file that lines are added to; empty: none
};

class Session {
 public:
  // There is one device, so one session. In a process that does not configure it, the environment
  // does: MSPROBE_SIM_PROFILE, MSPROBE_SIM_CONFIG, MSPROBE_SIM_LOG. Throws c10::Error where those
  // are wrong.
  static Session& get();

  Result<void> configure(const Setup& setup);
  SimProfile profile() const { return row_.profile; }
  const ProfileRow& arithmetic() const { return row_; }
  std::uint64_t seed() const { return rules_.seed; }

  void begin_call(std::string_view call);
  const std::string& call() const { return call_; }

  // The rules that strike the next results: of a whole call, or of an operator within it.
  std::vector<const FaultRule*> struck_call(bool backward);
  std::vector<const FaultRule*> struck_operator(std::string_view name, bool backward);

  bool logs() const { return !log_.empty(); }
  // One line, whole, whoever else writes.
  void note(std::string_view line) const;

 private:
  std::vector<const FaultRule*> struck(const FaultPlace& place) const;

  std::mutex mutex_;
  bool configured_ = false;
  ProfileRow row_ = profiles().front();  // the exact one
  FaultRules rules_;
  std::string log_;
  std::string call_;
  std::uint64_t operators_ = 0;  // of this call so far
};

}  // namespace msprobe::sim
