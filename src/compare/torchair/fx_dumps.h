// SPDX-License-Identifier: Apache-2.0
// Which of the files in one FX token directory belong to which dump, when several dumps were
// written there.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace msprobe::torchair {

// `nodes` are the nodes as they were dumped, in order of time. Returns the number of the dump of
// each, from 0. A new dump begins where the first node comes again, so a dump that was stopped
// early is separated from a complete one. If the dumps begin with different nodes, but at least
// half of all nodes repeat, a new dump begins at each repetition. Fewer repeated nodes are
// operators that ran several times in one dump.
std::vector<std::size_t> dump_numbers(std::span<const std::string_view> nodes);

}  // namespace msprobe::torchair
