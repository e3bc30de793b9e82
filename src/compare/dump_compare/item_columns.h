// SPDX-License-Identifier: Apache-2.0
// The columns of the comparison's table: the documented ones first, ours behind them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dump_compare/item_row.h"

namespace msprobe::dump_compare {

struct ItemColumn {
  std::string_view title;
  // Appends the text of the cell.
  void (*append)(std::string& out, const ItemRow& row, const EntryRows& entry);
  bool is_text = false;  // never a number, whatever it looks like: the checksum 234161e3
};

// `stack`: with the column of stacks.
std::vector<ItemColumn> columns_of(DataMode mode, bool stack);

// The header, and one line per row: UTF-8 without a mark, LF, quotes only if needed.
std::string csv_titles(std::span<const ItemColumn> columns);
// Fills EntryRows::csv.
void append_csv(EntryRows& entry, std::span<const ItemColumn> columns);

}  // namespace msprobe::dump_compare
