// SPDX-License-Identifier: Apache-2.0
// Estimates the cost of a call from the shapes in its entry, without parsing it.
#pragma once

#include <string_view>

#include "dump/dump_json.h"

namespace msprobe::check {

// In elements touched: the sum over every recorded tensor, more for operators that touch each
// element many times. Meant to rank calls and to scale time limits, nothing finer.
double estimate_cost(const dump::CallSlice& call);

}  // namespace msprobe::check
