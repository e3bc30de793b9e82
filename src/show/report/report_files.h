// SPDX-License-Identifier: Apache-2.0
// The files made of results: the page, JUnit XML, SARIF, the database and the spreadsheet.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/fail_on.h"
#include "core/result.h"
#include "report/report_data.h"

namespace msprobe::report {

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

// accuracy_checking_details_1.csv, "report", ".html" -> accuracy_checking_report_1.html
std::filesystem::path beside_csv(const std::filesystem::path& csv, std::string_view word,
                                 std::string_view suffix);

// Where the page goes that belongs to this CSV; empty: nowhere.
std::filesystem::path page_path(const ReportFiles& files, const std::filesystem::path& csv);

// The same for the spreadsheet.
std::filesystem::path workbook_path(const ReportFiles& files, const std::filesystem::path& csv);

// The tables of these results as one spreadsheet. `places`: of checks of several dumps.
Result<void> write_result_workbook(const std::filesystem::path& path,
                                   std::span<const std::filesystem::path> csvs,
                                   std::span<const std::string> places);

// Writes JUnit, SARIF and the database if they are asked for.
Result<void> write_machine_files(const ReportFiles& files, std::span<const ReportRun> runs,
                                 FailOn fail_on, std::string_view version);

}  // namespace msprobe::report
