// The columns of the comparison's table: the documented ones first, ours behind them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dump_compare/row.h"

namespace msprobe::dump_compare {

struct Column {
  std::string_view title;
  // Appends the text of the cell.
  void (*append)(std::string& out, const Row& row, const EntryRows& entry);
  bool is_text = false;  // never a number, whatever it looks like: the checksum 234161e3
};

// `stack`: with the column of stacks.
std::vector<Column> columns_of(Mode mode, bool stack);

// The header, and one line per row: UTF-8 without a mark, LF, quotes only if needed.
std::string csv_titles(std::span<const Column> columns);
// Fills EntryRows::csv.
void append_csv(EntryRows& entry, std::span<const Column> columns);

}  // namespace msprobe::dump_compare
