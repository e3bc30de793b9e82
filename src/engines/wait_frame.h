// SPDX-License-Identifier: Apache-2.0
// The answer of an engine that was asked one thing.
#pragma once

#include <optional>

#include "engines/engine_process.h"

namespace msprobe::engines {

// Writes what is queued and waits for the next frame, valid until the engine is read again. Empty
// if the engine ended, sent something broken, or the time is over.
std::optional<protocol::Frame> wait_for_frame(EngineProcess& process, double timeout_seconds);

}  // namespace msprobe::engines
