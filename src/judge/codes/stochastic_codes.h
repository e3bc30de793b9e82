// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding to codes: no code is the right one, but each is a neighbour of its number,
// and together they are off to no side.
#pragma once

#include "codes/judge_codes.h"

namespace msprobe::codes {

// REQUIRES: nothing is allowed beyond the rounding.
StrictFinding judge_stochastic(const CodePair& pair);

}  // namespace msprobe::codes
