// SPDX-License-Identifier: Apache-2.0
// Examines an interrupted run: how many calls its CSV pair really holds, and where to cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "documented/detail_row.h"
#include "journal/csv_pair.h"
#include "tables/column.h"

namespace msprobe::journal {

struct InterruptedPair {
  CsvPaths paths;  // for messages
  std::string_view result;
  std::string_view details;
  const CsvHeaders& headers;
  // The run ended by itself. If it did not, the last call is done again: its details may have been
  // lost between two of its rows.
  bool finished = false;
  tables::CellStyle style = {};  // in which the rows are written
  std::string_view maps = {};    // the lines of the map file; empty if there is none
};

// The calls that have rows, in the order of the rows.
struct ExpectedRows {
  std::size_t count = 0;
  std::function<std::string(std::size_t)> name;          // as the rows spell it
  std::function<bool(std::string_view)> has_no_details;  // of this call the details say nothing
  // The pair of one device of several: it lacks the calls of the others, and rows beyond these
  // calls are cut.
  bool only_some = false;
};

struct Salvaged {
  CsvSizes keep;
  std::size_t calls = 0;           // the first so many are done
  std::vector<std::string> notes;  // what was cut, for the log
  // The rows of the call that is done again, as they were; empty: none is.
  std::string last_result;
  std::string last_details;
  std::string last_maps = {};
};

// Keeps the calls, from the first on, whose result row and details rows are all there, and shows
// each kept result row. An error: other columns, or rows that are not these calls in this order.
Result<Salvaged> salvage(const InterruptedPair& pair, const ExpectedRows& expected,
                         const std::function<void(const documented::ResultRow&)>& show);

// Shows the result rows of a finished pair, with the strict status of their details. An error for
// other columns or a row that is not whole.
Result<void> read_finished(const InterruptedPair& pair,
                           const std::function<void(const documented::ResultRow&)>& show);

// The pair of an interrupted run, by the documented names; an error for any other name.
Result<CsvPaths> paths_to_resume(const std::filesystem::path& result_csv,
                                 const CsvNames& names = {});

}  // namespace msprobe::journal
