// SPDX-License-Identifier: Apache-2.0
// A whole comparison of dumps: every pair of ranks and steps in, the tables and where the runs
// diverge out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/result.h"
#include "dump_compare/compare_dumps.h"
#include "dump_compare/inputs.h"
#include "dump_compare/item_row.h"
#include "report/report_data.h"

namespace msprobe::dump_compare {

struct ComparisonOptions {
  DumpCompareOptions each;    // of one pair; names no dumps
  std::string target;         // as the user named it
  std::filesystem::path out;  // directory of the tables
  std::string timestamp;      // in their names
  std::string suffix;         // in their names, too
  bool xlsx = false;          // write them as xlsx, too
  std::string json;           // file of every row; empty: none
  bool log_rows = false;      // of real data
  bool diff_analyze = false;  // write the calls where the runs diverge
  bool for_report = false;    // gather what a report shows

  // Messages while it runs.
  std::function<void(log::Severity, const std::string&)> say;
  std::function<void(const std::string&)> print;
  std::function<void()> on_pair;  // the progress of another pair begins
  std::function<void(std::uint64_t done, std::uint64_t total)> show_progress;  // entries of a pair
};

struct ComparisonOutcome {
  Totals totals;
  bool has_failed_pair = false;  // said; the others were compared
  std::vector<report::ReportRun> runs;

  bool compared_nothing() const { return totals.compared() == 0 && totals[Outcome::kSkipped] == 0; }
  bool differs() const { return totals[Outcome::kError] + totals[Outcome::kSkipped] > 0; }
};

// An error: a file could not be written.
Result<ComparisonOutcome> compare_all(const DumpPairs& dumps, const ComparisonOptions& options);

// "1304 rows: 1296 pass, 8 warning, 0 error, 3 unmatched (1 only in the target, 2 only in the
// golden dump)"
std::string totals_text(const Totals& totals);

}  // namespace msprobe::dump_compare
