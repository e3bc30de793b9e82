// SPDX-License-Identifier: Apache-2.0
// Finds for each dumped operator those whose results it reads, by the edges of the graph text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "torchair/graph_index.h"
#include "torchair/members.h"

namespace msprobe::torchair {

// For each operator, given by its members and in graph order: the operators before it whose
// results it reads, each once. Operators of the graph that were not dumped are passed through.
std::vector<std::vector<std::uint32_t>> sources_of(std::span<const Members* const> ops,
                                                   const GraphIndex& graph);

}  // namespace msprobe::torchair
