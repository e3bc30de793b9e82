// SPDX-License-Identifier: Apache-2.0
// The answer of an engine that was asked one thing.
#pragma once

#include <optional>

#include "engines/engine_process.h"

namespace msprobe::engines {

// Writes what is queued and waits for the next frame, valid until the engine is read again. Empty
// if the engine ended, sent something broken, or the time is over.
std::optional<protocol::Frame> wait_for_frame(EngineProcess& process, double timeout_seconds);

// Of an engine that gave no frame: whether it had ended before it could read the request, because
// the one before it cost it its device. It is killed if it has not ended.
bool ended_after_device_error(EngineProcess& process);

}  // namespace msprobe::engines
