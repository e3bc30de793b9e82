// SPDX-License-Identifier: Apache-2.0
// --report, --junit, --sarif and --db of every command that judges, and what msprobe report does:
// results in, files for people and machines out.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "common_options.h"
#include "core/result.h"
#include "report/report_data.h"

namespace msprobe::cli {
class Parser;
}

namespace msprobe::app {

struct ReportFiles {
  std::string html;  // "": none; kBesideResults: named after the results
  std::string junit;
  std::string sarif;
  std::string database;
  std::string workbook;  // as html

  bool any() const {
    return !html.empty() || !junit.empty() || !sarif.empty() || !database.empty() ||
           !workbook.empty();
  }
};
// What a flag without a value is given (cli/parser.h).
inline constexpr std::string_view kBesideResults = "true";

// Declares --report, --junit, --sarif and --db.
void declare_report_options(cli::Parser& command, ReportFiles& files);
// Where the page goes that belongs to this CSV; empty: nowhere.
std::filesystem::path page_path(const ReportFiles& files, const std::filesystem::path& csv);
// Declares all but --report.
void declare_machine_files(cli::Parser& command, ReportFiles& files);
// Declares --xlsx. Results of `compare` have one of their own.
void declare_workbook(cli::Parser& command, ReportFiles& files);

// The results a report is made of, and what is known of them.
struct ReportJob {
  std::vector<std::filesystem::path> csvs;  // result or details CSVs, of checks and comparisons
  std::string dump;                         // dump.json; empty: as the run's own record says
  VerdictOptions verdict;
  bool profile_given = false;  // else as the run's own record says
  // Of checks of several dumps: "step1/rank0" of each CSV. They are not compared with each other.
  std::vector<std::string> places = {};
};

Result<std::vector<report::ReportRun>> read_runs(const ReportJob& job);

// Reads the results and writes the files that are asked for; says where they are.
Result<void> write_report_files(const ReportFiles& files, const ReportJob& job);

// The same for runs that are there. `beside`: the page's name where the user gave none.
Result<void> write_runs(const ReportFiles& files, std::span<const report::ReportRun> runs,
                        const std::filesystem::path& beside, std::string_view fail_on);

// Writes the tables of the job's CSVs as a spreadsheet where --xlsx asks for it. `beside`: a CSV
// that names it where the user did not.
Result<void> write_job_workbook(const ReportFiles& files, const ReportJob& job,
                                const std::filesystem::path& beside);

}  // namespace msprobe::app
