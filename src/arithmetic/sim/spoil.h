// SPDX-License-Identifier: Apache-2.0
// The faults, put into results that were right. The one place where that is done.
#pragma once

#include <vector>

#include "libtorch/aten.h"
#include "sim/rules.h"

namespace msprobe::sim {

// What the fault leaves of `results`: the leaves of a call or of an operator, on the CPU; undefined
// if there is none, before and after. `key`: which leaf is hit and what stale memory holds. True
// where something was changed. REQUIRES: a fault of results, not kCrash and its like.
bool spoil(const FaultRule& rule, std::vector<at::Tensor>& results, std::uint64_t key);

// Faults that leave no result: does not return (kCrash, kHang) or throws
// (kOutOfMemory, kNoKernel).
bool ends_call(Fault fault);
void end_call(Fault fault);

}  // namespace msprobe::sim
