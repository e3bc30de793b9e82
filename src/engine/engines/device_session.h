// SPDX-License-Identifier: Apache-2.0
// One engine that computes one operator after another on its device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/operation.h"
#include "engines/engine_process.h"
#include "engines/greeting.h"

namespace msprobe::engines {

class DeviceSession {
 public:
  // An error: no engine, or no such device.
  static Result<DeviceSession> open(EngineCommand command, double timeout_seconds);

  // An error: the device cannot compute it, or the engine ended or did not answer. Such an engine
  // is replaced, a few times.
  Result<Numbers> compute(const Operation& operation);

  // As the engine greeted: its PyTorch, and the device as it was opened ("npu:0" for "0").
  const protocol::Hello& hello() const { return hello_; }

 private:
  DeviceSession(EngineCommand command, double timeout_seconds)
      : command_(std::move(command)), timeout_seconds_(timeout_seconds) {}
  Result<void> start();
  std::optional<protocol::Frame> ask(const Operation& operation);

  EngineCommand command_;
  double timeout_seconds_;
  std::optional<EngineProcess> process_;
  protocol::Hello hello_;
  std::uint64_t asked_ = 0;
  int started_ = 0;
};

}  // namespace msprobe::engines
