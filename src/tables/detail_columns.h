// SPDX-License-Identifier: Apache-2.0
// The columns of the details and the result CSV of a check.
#pragma once

#include <span>

#include "judge/detail_row.h"
#include "judge/profile.h"
#include "tables/column.h"

namespace msprobe::tables {

std::span<const Column<judge::DetailRow>> detail_columns(judge::Profile profile);
std::span<const Column<judge::ResultRow>> result_columns();

// Of a check of a MindSpore dump.
std::span<const Column<judge::DetailRow>> mindspore_detail_columns(judge::Profile profile);
std::span<const Column<judge::ResultRow>> mindspore_result_columns();

}  // namespace msprobe::tables
