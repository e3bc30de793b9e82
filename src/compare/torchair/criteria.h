// SPDX-License-Identifier: Apache-2.0
// PASS or FAIL of a measured row, by the documented criteria.
#pragma once

#include <optional>

#include "tables/xlsx_table.h"
#include "torchair/tensor_row.h"

namespace msprobe::torchair {

// Documented: real data passes at Cosine >= 0.99 and MaxRelativeErr < 0.01.
inline constexpr double kMinCosine = 0.99;
inline constexpr double kMaxRelativeError = 0.01;
// What counts as a difference of statistics for the first difference, whatever the limit says.
inline constexpr double kStatisticDifference = 0.01;

struct VerdictLimits {
  double statistics = 0.5;  // a relative difference above it fails
};

// Sets verdict, differs, reached and the message.
void judge(TensorRow& row, GraphMode mode, const VerdictLimits& limits);

// device - bench; NaN and infinities as the documented classes have them. Nothing: N/A.
std::optional<double> difference(const StatisticPair& pair);
// |difference / bench|; 0 where both are equal, infinite where only bench is 0.
std::optional<double> relative_difference(const StatisticPair& pair);

// Red, yellow and green of the documented marks.
using tables::RowMark;
RowMark mark_of(const TensorRow& row);

}  // namespace msprobe::torchair
