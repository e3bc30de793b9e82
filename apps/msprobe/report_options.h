// SPDX-License-Identifier: Apache-2.0
// --report, --junit, --sarif and --db of every command that judges, and the files they ask for.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "common_options.h"
#include "core/result.h"
#include "report/report_data.h"
#include "report/report_files.h"

namespace msprobe::cli {
class Parser;
}

namespace msprobe::app {

// Declares --report, --junit, --sarif and --db.
void declare_report_options(cli::Parser& command, report::ReportFiles& files);
// Declares all but --report.
void declare_machine_files(cli::Parser& command, report::ReportFiles& files);
// Declares --xlsx. Results of `compare` have one of their own.
void declare_workbook(cli::Parser& command, report::ReportFiles& files);

// The results a report is made of, as report/result_runs.h takes them.
struct ReportJob {
  std::vector<std::filesystem::path> csvs;
  std::string dump;
  documented::VerdictOptions verdict;
  bool profile_given = false;
  std::vector<std::string> places = {};
  std::filesystem::path directory = {};  // of a check of several dumps: files beside it go here
  std::string device_library = {};       // that of this command line
};

Result<std::vector<report::ReportRun>> read_runs(const ReportJob& job);

// Reads the results and writes the files that are asked for; says where they are.
Result<void> write_report_files(const report::ReportFiles& files, const ReportJob& job);

// The same for runs that are there. `beside`: the page's name if the user gave none.
Result<void> write_runs(const report::ReportFiles& files, std::span<const report::ReportRun> runs,
                        const std::filesystem::path& beside, FailOn fail_on);

// Writes the tables of the job's CSVs as a spreadsheet if --xlsx asks for it. `beside`: a CSV that
// names it if the user does not.
Result<void> write_job_workbook(const report::ReportFiles& files, const ReportJob& job,
                                const std::filesystem::path& beside);

}  // namespace msprobe::app
