// SPDX-License-Identifier: Apache-2.0
// The columns of the two CSVs of api_precision_compare.
#pragma once

#include <span>
#include <string_view>

#include "documented/detail_row.h"
#include "documented/profile.h"
#include "final_verdict/compare_row.h"
#include "tables/column.h"

namespace msprobe::final_verdict {

// English titles that a report needs, too.
inline constexpr std::string_view kSmallValueRatioTitle = "Error ratio in small value range";
inline constexpr std::string_view kRmseRatioTitle = "RMSE ratio";
inline constexpr std::string_view kMaxRelativeRatioTitle = "Maximum relative error ratio";
inline constexpr std::string_view kMeanRelativeRatioTitle = "Mean relative error ratio";
inline constexpr std::string_view kBalanceRatioTitle = "Error balance ratio";
inline constexpr std::string_view kInfNanRateTitle = "INF/NaN error rate";

std::span<const tables::Column<CompareRow>> compare_detail_columns(documented::Profile profile);
std::span<const tables::Column<documented::ResultRow>> compare_result_columns(
    documented::Profile profile);

}  // namespace msprobe::final_verdict
