// SPDX-License-Identifier: Apache-2.0
// Feeds calls to engine processes and returns their answers in dump order, whatever the engines
// do: crash, hang, grow.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "engines/engine_process.h"
#include "engines/greeting.h"
#include "protocol/frames.h"
#include "protocol/measured_call.h"

namespace msprobe::engines {

// What there is to do. Positions are those of the plan.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  // Guessed cost; empty: no engine is needed for this one.
  virtual std::optional<double> cost(std::size_t position) = 0;
  // `save`: the engine is to save the call's data.
  virtual protocol::CallRequest request(std::size_t position, bool save) = 0;
  // Judges what an engine on `device` found. True: run it once more, saving its data.
  virtual bool answered(std::size_t position, const protocol::MeasuredCall& call,
                        std::size_t device) = 0;
  // In order, each position once; answered before, unless no engine is needed for it.
  virtual void commit(std::size_t position) = 0;
  // What was committed reaches the files.
  virtual Result<void> flush() = 0;
  // For a person: an engine that crashed, was replaced, ...
  virtual void say(const std::string& text) = 0;
  // Called about ten times a second.
  virtual void show_progress(std::size_t committed) = 0;
};

struct Worker {
  std::function<Result<EngineProcess>()> start;
  std::size_t device = 0;  // as Work::answered names it
};

struct DispatchOptions {
  std::size_t window = 256;               // a kill costs at most these many calls
  double timeout_seconds = 300;           // of a small call; large ones get more
  std::uint64_t worker_memory_bytes = 0;  // an engine above it is replaced; 0: never
  int interrupt = -1;                     // a descriptor; once readable, the run stops cleanly
  std::function<std::chrono::steady_clock::time_point()> clock = &std::chrono::steady_clock::now;
};

enum class DispatchEnd : std::uint8_t { kDone, kInterrupted };

// Runs positions first..end-1 with one engine per worker; `ready` is used for the first worker.
Result<DispatchEnd> dispatch(Work& work, std::size_t first, std::size_t end,
                             const std::vector<Worker>& workers, ReadyEngine ready,
                             const protocol::RunOptions& run, const DispatchOptions& options);

// How long a call of this cost may take.
double time_limit_seconds(double cost, double timeout_seconds);

}  // namespace msprobe::engines
