// SPDX-License-Identifier: Apache-2.0
// Which rules of a configuration changed anything: a rule that never does looks like a fault that a
// check has missed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"

namespace msprobe::sim {

class FiredRules {
 public:
  // Nothing is watched where the configuration cannot be read: the device says why.
  static FiredRules watch(const std::string& config);

  // The log that devices on this machine must write to; it is in memory. Empty: nothing is watched.
  std::string log() const;
  // "fault 2 of sim.yaml (zeros, apis conv3d) never fired", of each such rule.
  std::vector<std::string> silent() const;
  std::size_t size() const { return rules_.size(); }

 private:
  std::string shown_;               // the name of the configuration
  std::vector<std::string> rules_;  // "zeros, apis conv3d"
  Descriptor log_;
};

}  // namespace msprobe::sim
