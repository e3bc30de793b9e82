// SPDX-License-Identifier: Apache-2.0
// Result and details CSVs -> runs of a report.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "documented/standard.h"
#include "report/report_data.h"

namespace msprobe::report {

// By whose rules the rows were judged; the limits shown beside the metrics come from here.
struct JudgedBy {
  documented::Profile profile = documented::Profile::kDocumented;
  documented::Standards standards = {};
  std::string device = {};  // kind of the device: "npu"; empty: unknown
};

// The two files of a result. A details CSV without a result CSV is enough: its rows are folded.
struct ResultFiles {
  std::filesystem::path details;
  std::filesystem::path result;  // empty: there is none
  bool compare = false;          // of api_precision_compare, else of a check
  bool older = false;            // of run_ut
  bool mindspore = false;        // of a check of a MindSpore dump
};

// Finds what kind of CSV the user named, by its titles, and its partner, by its name.
Result<ResultFiles> find_result_files(const std::filesystem::path& csv);

// Rows that cannot be trusted (wrong number of cells, text for a number) are kept, and say so in
// their message.
Result<ReportRun> read_run(const ResultFiles& files, const JudgedBy& judged_by);

// The limits of a comparison's rows, once their dtypes are known (add_side of the device).
void set_compare_limits(ReportRun& run, const JudgedBy& judged_by);

// Puts the metrics of the same rows of a check on a device beside those of `run`: as those of
// `side`, "device" or "reference".
void add_side(ReportRun& run, const ReportRun& check, std::string_view side);

}  // namespace msprobe::report
