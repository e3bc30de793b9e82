// SPDX-License-Identifier: Apache-2.0
// One engine that is asked about one form of a call after another.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dump/call_record.h"
#include "engines/engine_process.h"
#include "engines/greeting.h"
#include "protocol/measured_call.h"

namespace msprobe::shrink {

// The first result of a call that is beyond its bound.
struct FailingResult {
  bool backward = false;
  std::size_t place = 0;  // among the measured leaves of its direction

  const protocol::MeasuredLeaf& leaf(const protocol::MeasuredCall& call) const {
    return (backward ? call.backward : call.forward)[place];
  }
};

struct ProbeAnswer {
  enum class Kind : std::uint8_t {
    kPass,      // nothing is beyond its bound
    kFails,     // an output or gradient is, or the device refuses what the benchmark computes
    kLost,      // the engine crashed or did not answer
    kCannotRun  // the benchmark cannot run it either
  };
  Kind kind = Kind::kCannotRun;
  std::string text;   // the reason, for a person
  std::string cause;  // of the first result that is beyond its bound; empty: not known
  protocol::MeasuredCall call;
  std::optional<FailingResult> failing = {};
  bool raised = false;           // the device refuses what the benchmark computes
  bool backward_raised = false;  // the same, in the backward pass

  bool fails() const { return kind == Kind::kFails || kind == Kind::kLost; }
};

bool is_alarm(const protocol::MeasuredLeaf& leaf);

// Whether a smaller form fails for the cause that the call had. Bad rows, tiles and elements are
// one cause: less of them is left in a smaller result. A call without a known cause had any.
bool keeps_cause(std::string_view had, std::string_view has);

class Probe {
 public:
  Probe(engines::EngineCommand command, ReplaySettings replay, double timeout_seconds)
      : command_(std::move(command)),
        run_{.replay = std::move(replay)},
        timeout_seconds_(timeout_seconds) {}

  // `save_directory`: not empty: inputs and outputs are saved there. An error: no engine can be
  // had.
  Result<ProbeAnswer> ask(const dump::CallRecord& call, const std::string& save_directory = "");

  // As the engine opened it: "npu:0" for "0". Empty before the first question.
  const std::string& device() const { return device_; }

 private:
  Result<void> start();
  std::optional<protocol::MeasuredCall> wait();

  engines::EngineCommand command_;
  protocol::RunOptions run_;
  double timeout_seconds_;
  std::optional<engines::ReadyEngine> engine_;
  std::string device_;
  std::uint64_t asked_ = 0;
};

}  // namespace msprobe::shrink
