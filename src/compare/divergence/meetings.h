// SPDX-License-Identifier: Apache-2.0
// Matches the communication calls of a step's ranks, and derives a common order of all calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "divergence/recorded_run.h"

namespace msprobe::divergence {

struct RankRun {
  int rank = 0;
  const Trace* run = nullptr;
};

// A call of a rank; `rank` is an index into the ranks given.
struct RankCall {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;
};

struct Meetings {
  // Per rank and communication call (Call::communication): the calls whose inputs reach its
  // outputs, its own among them. A receive has its sender, a collective call everybody.
  std::vector<std::vector<std::vector<RankCall>>> sources;
  // Per rank and call: a time that never contradicts the order on a rank nor what a call had to
  // wait for.
  std::vector<std::vector<std::uint64_t>> times;
};

Meetings find_meetings(std::span<const RankRun> ranks);

}  // namespace msprobe::divergence
