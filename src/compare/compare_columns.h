// SPDX-License-Identifier: Apache-2.0
// The columns of the two CSVs of api_precision_compare.
#pragma once

#include <span>

#include "compare/compare_row.h"
#include "judge/detail_row.h"
#include "judge/profile.h"
#include "tables/column.h"

namespace msprobe::compare {

std::span<const tables::Column<CompareRow>> compare_detail_columns(judge::Profile profile);
std::span<const tables::Column<judge::ResultRow>> compare_result_columns(judge::Profile profile);

}  // namespace msprobe::compare
