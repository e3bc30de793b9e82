// SPDX-License-Identifier: Apache-2.0
// The steps of the bound, tried in order until one holds. README.md lists them.
#pragma once

#include "strict/call_context.h"

namespace msprobe::strict {

// REQUIRES: `pair` is floating or complex on both sides, of equal shape; `type` is the device's.
StrictFinding judge_by_bound(CallContext& context, const Pair& pair, const FloatType& type);

}  // namespace msprobe::strict
