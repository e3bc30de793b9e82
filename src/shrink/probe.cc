// SPDX-License-Identifier: Apache-2.0
#include "shrink/probe.h"

#include <fmt/format.h>

#include "engines/wait_frame.h"
#include "protocol/frames.h"
#include "shrink/call_json.h"

namespace msprobe::shrink {
namespace {

using protocol::MeasuredCall;
using protocol::MeasuredLeaf;

ProbeAnswer answer_of(MeasuredCall call) {
  using Kind = ProbeAnswer::Kind;
  const auto skipped = [](const Skip& skip) {
    const bool device = skip.reason == SkipReason::kDeviceFailed;
    return ProbeAnswer{device ? Kind::kFails : Kind::kCannotRun, skip.text, {}, {}};
  };
  if (call.skip) return skipped(*call.skip);
  for (const auto* leaves : {&call.forward, &call.backward}) {
    for (const MeasuredLeaf& leaf : *leaves) {
      if (!is_alarm(leaf)) continue;
      const std::string_view direction = leaves == &call.forward ? "forward" : "backward";
      std::string text = fmt::format("{} output {}: {}", direction, leaf.path, leaf.strict->reason);
      if (!leaf.strict->cause.empty()) text += fmt::format(" ({})", leaf.strict->cause);
      std::string cause = leaf.strict->cause;
      return {Kind::kFails, std::move(text), std::move(cause), std::move(call)};
    }
  }
  if (call.backward_skip) return skipped(*call.backward_skip);
  return {Kind::kPass, "", "", std::move(call)};
}

// "lost terms: sums without the last 16 of 512" -> "lost terms".
std::string_view kind_of(std::string_view cause) {
  const std::string_view kind = cause.substr(0, cause.find_first_of(":;"));
  return kind.find("bad ") == std::string_view::npos ? kind : "bad";
}

}  // namespace

bool is_alarm(const MeasuredLeaf& leaf) {
  return leaf.strict &&
         (leaf.strict->status == Verdict::kError || leaf.strict->status == Verdict::kWarning);
}

bool keeps_cause(std::string_view had, std::string_view has) {
  return had.empty() || kind_of(had) == kind_of(has);
}

Result<void> Probe::start() {
  Result<engines::EngineProcess> process = engines::EngineProcess::start(command_);
  if (!process) return propagate(process);
  Result<std::optional<engines::ReadyEngine>> ready = engines::greet(std::move(*process), -1);
  if (!ready) return propagate(ready);
  engine_ = std::move(*ready);
  device_ = engine_->hello.device;
  engine_->process.send(protocol::encode(run_));
  return {};
}

// Empty if the engine ended or the time is over.
std::optional<MeasuredCall> Probe::wait() {
  const auto frame = engines::wait_for_frame(engine_->process, timeout_seconds_);
  if (!frame) return std::nullopt;
  Result<protocol::CallResponse> response = protocol::decode_call_response(*frame);
  return response ? std::optional(std::move(response->call)) : std::nullopt;
}

Result<ProbeAnswer> Probe::ask(const dump::CallRecord& call, const std::string& save_directory) {
  if (!engine_) {
    if (Result<void> started = start(); !started) return propagate(started);
  }
  const auto send = [&] {
    engine_->process.send(protocol::encode(protocol::CallRequest{
        ++asked_, call.full_name, json_of(call.forward),
        call.backward ? json_of(*call.backward) : std::string(), save_directory}));
  };
  send();
  std::optional<MeasuredCall> measured = wait();
  if (!measured && engines::ended_after_device_error(engine_->process)) {
    if (Result<void> started = start(); !started) return propagate(started);
    send();
    measured = wait();
  }
  if (measured) return answer_of(*std::move(measured));
  engine_.reset();
  return ProbeAnswer{ProbeAnswer::Kind::kLost, "the engine ended or did not answer", {}, {}};
}

}  // namespace msprobe::shrink
