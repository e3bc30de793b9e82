// SPDX-License-Identifier: Apache-2.0
// The smallest form of one failing call, as a dump and as a Python script.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/result.h"
#include "engines/engine_options.h"

namespace msprobe::shrink {

struct ShrinkOptions {
  std::string api_info;  // dump.json with the call
  std::string call;      // "Functional.conv2d.0"
  std::string out;       // directory; empty: shrunk/CALL
  std::string device = "0";
  engines::EngineOptions engine;
  double timeout_seconds = 60;
  std::function<void(const std::string&)> print;  // what was found, while it goes on
};

struct ShrinkOutcome {
  std::string device;                   // as the engine names it
  std::optional<std::string> no_fault;  // why there is nothing to shrink
};

// Writes dump.json, reproduce.py and what they need into `out`, and tries the script.
Result<ShrinkOutcome> shrink_call(ShrinkOptions options);

}  // namespace msprobe::shrink
