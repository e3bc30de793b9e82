// SPDX-License-Identifier: Apache-2.0
// Replays a whole dump in this process and says how much of it ran and agreed. For developers.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/result.h"
#include "execute/execute_call.h"

namespace msprobe::worker {

struct ReplayOptions {
  std::filesystem::path dump;
  execute::ExecuteOptions execute;
  std::string only;       // a full name; empty: all
  bool per_call = false;  // a line of JSON per call
};

// Both sides in the recorded precision, arguments unchanged, the recorded outputs as the device,
// seed 0 before each call: what Python computed the same way must come out bit for bit.
void compare_in_equal_precision(ReplayOptions& options);

// Hands lines to `print`. True: there are calls, every one ran, and agreed where compared.
Result<bool> replay_dump(const ReplayOptions& options,
                         const std::function<void(const std::string&)>& print);

}  // namespace msprobe::worker
