// SPDX-License-Identifier: Apache-2.0
// The columns of the details and the result CSV of a check.
#pragma once

#include <span>

#include "documented/detail_row.h"
#include "documented/profile.h"
#include "tables/column.h"

namespace msprobe::tables {

std::span<const Column<documented::DetailRow>> detail_columns(documented::Profile profile);
std::span<const Column<documented::ResultRow>> result_columns();

// Of a check of a MindSpore dump.
std::span<const Column<documented::DetailRow>> mindspore_detail_columns(
    documented::Profile profile);
std::span<const Column<documented::ResultRow>> mindspore_result_columns();

}  // namespace msprobe::tables
