// SPDX-License-Identifier: Apache-2.0
// The columns of the comparison's table: the documented ones first, ours behind them.
#pragma once

#include <span>
#include <vector>

#include "comparison/row_table.h"
#include "dump_compare/item_row.h"

namespace msprobe::dump_compare {

using ItemColumn = comparison::Column<ItemRow, EntryRows>;

// `stack`: with the column of stacks.
std::vector<ItemColumn> columns_of(DataMode mode, bool stack);

// Fills EntryRows::texts.
void append_texts(EntryRows& entry, std::span<const ItemColumn> columns, bool with_cells);

}  // namespace msprobe::dump_compare
