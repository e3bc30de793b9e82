// SPDX-License-Identifier: Apache-2.0
// A worker's place in a dispatch, and the calls that its engine has.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>

#include "engines/call_queue.h"
#include "engines/dispatch.h"

namespace msprobe::engines {

struct Sent {
  CallQueue::Item item;
  bool save = false;
};

enum class EngineState : std::uint8_t { kNone, kStarting, kReady, kDraining };

// A worker's place and the engine that fills it at the moment.
struct Place {
  using Clock = std::chrono::steady_clock;

  const Worker* worker = nullptr;
  EngineState state = EngineState::kNone;
  std::unique_ptr<EngineProcess> process = nullptr;
  std::deque<Sent> sent = {};    // answers come in this order
  Clock::time_point since = {};  // when the first of them could start, or the engine was started
  Clock::time_point memory_looked = {};

  double sent_cost() const {
    double cost = 0;
    for (const Sent& call : sent) cost += call.item.cost;
    return cost;
  }
};

}  // namespace msprobe::engines
