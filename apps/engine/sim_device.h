// SPDX-License-Identifier: Apache-2.0
// The simulated device, whose library is beside the engine.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace msprobe::engine {

struct SimSetup {
  std::string profile;
  std::string config;
  std::string log;

  bool given() const { return !(profile.empty() && config.empty() && log.empty()); }
};

bool is_sim(std::string_view device);

// Loads the library and configures the device.
Result<void> load_sim(const SimSetup& setup);

}  // namespace msprobe::engine
