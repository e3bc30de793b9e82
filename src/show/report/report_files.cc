// SPDX-License-Identifier: Apache-2.0
#include "report/report_files.h"

#include <vector>

#include <fmt/format.h>

#include "report/database.h"
#include "report/junit.h"
#include "report/read_results.h"
#include "report/sarif.h"
#include "tables/workbook.h"

namespace msprobe::report {

namespace fs = std::filesystem;

fs::path beside_csv(const fs::path& csv, std::string_view word, std::string_view suffix) {
  std::string name = csv.stem().string();
  for (const std::string_view kind : {"details", "result"}) {
    if (const std::size_t at = name.rfind(kind); at != std::string::npos) {
      name.replace(at, kind.size(), word);
      return csv.parent_path() / fmt::format("{}{}", name, suffix);
    }
  }
  return csv.parent_path() / fmt::format("{}_{}{}", name, word, suffix);
}

fs::path page_path(const ReportFiles& files, const fs::path& csv) {
  if (files.html != kBesideResults) return files.html;
  return beside_csv(csv, "report", ".html");
}

fs::path workbook_path(const ReportFiles& files, const fs::path& csv) {
  if (files.workbook != kBesideResults) return files.workbook;
  return beside_csv(csv, "tables", ".xlsx");
}

Result<void> write_result_workbook(const fs::path& path, std::span<const fs::path> csvs,
                                   std::span<const std::string> places) {
  std::vector<tables::Sheet> sheets;
  for (std::size_t i = 0; i < csvs.size(); ++i) {
    const Result<ResultFiles> found = find_result_files(csvs[i]);
    if (!found) return propagate(found);
    const std::string place = i < places.size() ? " " + places[i] : "";
    const std::string_view kind = found->compare ? "comparison " : "";
    if (!found->result.empty()) {
      sheets.push_back({fmt::format("{}result{}", kind, place), found->result});
    }
    sheets.push_back({fmt::format("{}details{}", kind, place), found->details});
  }
  return tables::write_workbook(path, sheets);
}

Result<void> write_machine_files(const ReportFiles& files, std::span<const ReportRun> runs,
                                 FailOn fail_on, std::string_view version) {
  if (!files.junit.empty()) {
    const Result<void> written = write_junit(files.junit, runs, fail_on);
    if (!written) return written;
  }
  if (!files.sarif.empty()) {
    const Result<void> written = write_sarif(files.sarif, runs, fail_on, version);
    if (!written) return written;
  }
  if (!files.database.empty()) return add_to_database(files.database, runs);
  return {};
}

}  // namespace msprobe::report
