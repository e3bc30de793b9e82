// SPDX-License-Identifier: Apache-2.0
// The columns of the two CSVs of api_precision_compare.
#pragma once

#include <span>
#include <string_view>

#include "compare/compare_row.h"
#include "judge/detail_row.h"
#include "judge/profile.h"
#include "tables/column.h"

namespace msprobe::compare {

// English titles that a report needs, too.
inline constexpr std::string_view kSmallValueRatioTitle = "Error ratio in small value range";
inline constexpr std::string_view kRmseRatioTitle = "RMSE ratio";
inline constexpr std::string_view kMaxRelativeRatioTitle = "Maximum relative error ratio";
inline constexpr std::string_view kMeanRelativeRatioTitle = "Mean relative error ratio";
inline constexpr std::string_view kBalanceRatioTitle = "Error balance ratio";
inline constexpr std::string_view kInfNanRateTitle = "INF/NaN error rate";

std::span<const tables::Column<CompareRow>> compare_detail_columns(judge::Profile profile);
std::span<const tables::Column<judge::ResultRow>> compare_result_columns(judge::Profile profile);

}  // namespace msprobe::compare
