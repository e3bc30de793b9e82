// SPDX-License-Identifier: Apache-2.0
// The numbers a row's metrics are held against, with their origin: docs/standards.md as data.
#pragma once

#include <string_view>

#include "core/dtype.h"
#include "documented/standard.h"
#include "report/read_results.h"
#include "report/report_data.h"

namespace msprobe::report {

// Of a check: the ladder.
Limits check_limits(std::string_view api, DType dtype, const JudgedBy& judged_by);

// Of a check of a MindSpore dump.
Limits mindspore_limits(const JudgedBy& judged_by);
inline constexpr std::string_view kMindSporeCosine = "Cosine";

// Of run_ut.
Limits older_limits(DType dtype);

// Of api_precision_compare, by the row's algorithm. `dtype`: null if it is not known; ULP limits
// depend on it and are then left out.
Limits compare_limits(std::string_view api, const DType* dtype, documented::Standard standard,
                      const JudgedBy& judged_by);

}  // namespace msprobe::report
