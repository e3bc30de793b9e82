// SPDX-License-Identifier: Apache-2.0
#include "engines/device_session.h"

#include <fmt/format.h>

#include "engines/wait_frame.h"

namespace msprobe::engines {
namespace {

constexpr int kMostStarts = 5;  // give up after this many engine crashes

}  // namespace

Result<DeviceSession> DeviceSession::open(EngineCommand command, double timeout_seconds) {
  DeviceSession session(std::move(command), timeout_seconds);
  if (Result<void> started = session.start(); !started) return propagate(started);
  return session;
}

Result<void> DeviceSession::start() {
  if (started_ == kMostStarts) {
    return fail(ErrorKind::kExecution, fmt::format("{} engines ended", kMostStarts));
  }
  ++started_;
  Result<EngineProcess> process = EngineProcess::start(command_);
  if (!process) return propagate(process);
  Result<std::optional<ReadyEngine>> ready = greet(std::move(*process), -1);
  if (!ready) return propagate(ready);
  hello_ = std::move((*ready)->hello);
  process_ = std::move((*ready)->process);
  return {};
}

std::optional<protocol::Frame> DeviceSession::ask(const Operation& operation) {
  process_->send(protocol::encode(protocol::OperationRequest{++asked_, operation}));
  return wait_for_frame(*process_, timeout_seconds_);
}

Result<Numbers> DeviceSession::compute(const Operation& operation) {
  if (!process_) {
    if (Result<void> started = start(); !started) return propagate(started);
  }
  std::optional<protocol::Frame> frame = ask(operation);
  if (!frame && ended_after_device_error(*process_)) {
    if (Result<void> started = start(); !started) return propagate(started);
    frame = ask(operation);
  }
  if (!frame) {
    process_.reset();
    return fail(ErrorKind::kExecution,
                fmt::format("{}: the engine ended or did not answer", operation.name));
  }
  Result<protocol::OperationResponse> response = protocol::decode_operation_response(*frame);
  if (!response) return propagate(response);
  if (!response->error.empty()) return fail(ErrorKind::kExecution, response->error);
  return std::move(response->result);
}

}  // namespace msprobe::engines
