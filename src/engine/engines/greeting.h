// SPDX-License-Identifier: Apache-2.0
// Reads an engine's greeting, or says why there is none.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/result.h"
#include "engines/engine_process.h"
#include "protocol/frames.h"

namespace msprobe::engines {

inline constexpr std::chrono::seconds kGreetingLimit(300);

// A started engine that has greeted.
struct ReadyEngine {
  EngineProcess process;
  protocol::Hello hello;
};

// Waits for the greeting; an error holds what the engine said instead, or how it ended. Empty where
// `interrupt` became readable first.
Result<std::optional<ReadyEngine>> greet(EngineProcess process, int interrupt);

// The first frame of an engine: a greeting this msprobe understands.
Result<protocol::Hello> read_greeting(const protocol::Frame& frame);

// An engine that ended before it greeted: how, and what it printed.
Failure early_end(EngineProcess& process);
// What it printed last that names an error, or else anything but a warning. Empty: nothing.
std::string last_error_line(const EngineProcess& process);

}  // namespace msprobe::engines
