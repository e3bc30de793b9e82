// SPDX-License-Identifier: Apache-2.0
// The columns of run_ut's two CSVs, and how their cells are spelled.
#pragma once

#include <span>
#include <string_view>

#include "documented/detail_row.h"
#include "documented/profile.h"
#include "tables/column.h"

namespace msprobe::tables {

// The metrics that decide.
inline constexpr std::string_view kOlderCosine = "Cosine Similarity";
inline constexpr std::string_view kOlderDual1000 = "Relative Error (dual thousandth)";
inline constexpr std::string_view kOlderDual10000 = "Relative Error (dual ten thousandth)";

std::span<const Column<documented::DetailRow>> older_detail_columns(documented::Profile profile);
std::span<const Column<documented::ResultRow>> older_result_columns();

// True and False for verdicts, N/A for what does not apply.
inline constexpr CellStyle kOlderStyle{
    .blank = "N/A",
    .no_verdict = "N/A",
    .verdicts = {"True", "warning", "False", "SKIP", "inconclusive"}};

}  // namespace msprobe::tables
