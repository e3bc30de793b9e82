// How an engine begins: its greeting, or why there is none.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "check/engine_process.h"
#include "check/wire.h"
#include "core/result.h"

namespace msprobe::check {

inline constexpr std::chrono::seconds kGreetingLimit(300);

// A started engine that has greeted.
struct ReadyEngine {
  EngineProcess process;
  Hello hello;
};

// Waits for the greeting; an error holds what the engine said instead, or how it ended. Empty where
// `interrupt` became readable first.
Result<std::optional<ReadyEngine>> greet(EngineProcess process, int interrupt);

// The first frame of an engine: a greeting this msprobe understands.
Result<Hello> read_greeting(const Frame& frame);

// An engine that ended before it greeted: how, and the last thing it printed.
Failure early_end(EngineProcess& process);
std::string last_error_line(const EngineProcess& process);

}  // namespace msprobe::check
