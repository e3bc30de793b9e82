// SPDX-License-Identifier: Apache-2.0
// What a call takes at least, told from its record before memory is taken.
#pragma once

#include "dump/call_record.h"

namespace msprobe::arguments {

// In bytes: every recorded input, result and gradient as recorded, and once more on the benchmark,
// `raised` to float64. The operator itself may take more. A double: shapes of a hostile record
// overflow integers.
double least_bytes(const dump::CallRecord& call, bool raised);

}  // namespace msprobe::arguments
