// SPDX-License-Identifier: Apache-2.0
// The whole result of one call, for a check of that call alone.
#pragma once

#include <string>

#include "report/report_data.h"
#include "terminal/layout.h"

namespace msprobe::terminal {

// Where the call was made, its arguments, and for each output and gradient: both verdicts, dtype
// and shape, the error over its bound, the cause, and every metric.
std::string call_result(const report::ReportRun& run, const report::ReportCall& call,
                        const Style& style);

}  // namespace msprobe::terminal
