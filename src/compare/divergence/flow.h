// SPDX-License-Identifier: Apache-2.0
// Finds the data flow of a run: each call, and the calls whose results it reads.
#pragma once

#include <cstdint>
#include <vector>

#include "divergence/recorded_run.h"

namespace msprobe::divergence {

// Indices into Trace::calls.
struct FlowEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;

  bool operator==(const FlowEdge&) const = default;
};

// A tensor is known again by its recorded values; the last call before that made it counts. Where
// API calls were recorded, modules are left out: they only wrap them. In order of `to`.
std::vector<FlowEdge> find_flow(const Trace& run);

}  // namespace msprobe::divergence
