// SPDX-License-Identifier: Apache-2.0
// The finding of a result that no step explains.
#pragma once

#include "strict/call_context.h"

namespace msprobe::strict {

// An error, or a warning if the excess is slight; SKIP if the formula fails on the CPU as well.
// `tried`: what was compared last.
StrictFinding failed(CallContext& context, const Pair& pair, const FloatType& type,
                     const Tried& tried);

}  // namespace msprobe::strict
