// SPDX-License-Identifier: Apache-2.0
#include "shrink/probe.h"

#include <algorithm>

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
  ProbeAnswer answer;
  const auto skipped = [&](const Skip& skip) {
    answer.raised = skip.reason == SkipReason::kDeviceFailed;
    answer.kind = answer.raised ? Kind::kFails : Kind::kCannotRun;
    answer.text = skip.text;
  };
  if (call.skip) {
    skipped(*call.skip);
    return answer;
  }
  for (const bool backward : {false, true}) {
    const std::vector<MeasuredLeaf>& leaves = backward ? call.backward : call.forward;
    const auto found = std::ranges::find_if(leaves, &is_alarm);
    if (found == leaves.end()) continue;
    answer.kind = Kind::kFails;
    answer.cause = found->strict->cause;
    answer.text = fmt::format("{} output {}: {}", backward ? "backward" : "forward", found->path,
                              found->strict->reason);
    if (!answer.cause.empty()) answer.text += fmt::format(" ({})", answer.cause);
    answer.failing = {backward, static_cast<std::size_t>(found - leaves.begin())};
    answer.call = std::move(call);
    return answer;
  }
  if (call.backward_skip) {
    skipped(*call.backward_skip);
    answer.backward_raised = answer.raised;
  } else {
    answer.kind = Kind::kPass;
  }
  answer.call = std::move(call);
  return answer;
}

// "lost terms: sums without the last 16 of 512" -> "lost terms". One NaN is less of many.
std::string_view kind_of(std::string_view cause) {
  constexpr std::string_view kNotFinite = "NaN or Inf";
  if (cause.starts_with(kNotFinite)) return kNotFinite;
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
  ProbeAnswer lost;
  lost.kind = ProbeAnswer::Kind::kLost;
  lost.text = "the engine ended or did not answer";
  return lost;
}

}  // namespace msprobe::shrink
