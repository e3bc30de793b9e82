// The columns of the two CSVs of api_precision_compare.
#pragma once

#include <span>

#include "judge/compare_row.h"
#include "judge/detail_row.h"
#include "report/column.h"

namespace msprobe::report {

std::span<const Column<judge::CompareRow>> compare_detail_columns(judge::Profile profile);
std::span<const Column<judge::ResultRow>> compare_result_columns(judge::Profile profile);

}  // namespace msprobe::report
