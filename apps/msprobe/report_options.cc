// SPDX-License-Identifier: Apache-2.0
#include "report_options.h"

#include <fmt/format.h>

#include "cli/parser.h"
#include "core/log.h"
#include "report/html_report.h"
#include "report/result_runs.h"
#include "version.h"

namespace msprobe::app {

namespace fs = std::filesystem;
using report::ReportFiles;
using report::ReportRun;

void declare_report_options(cli::Parser& command, ReportFiles& files) {
  command.group(kMostUsed);
  command.flag("--report", files.html,
               "write an HTML report beside the results, or to FILE (*.html)");
  declare_machine_files(command, files);
}

void declare_machine_files(cli::Parser& command, ReportFiles& files) {
  command.group("Output");
  command.value("--junit", files.junit, "write the verdicts as JUnit XML").named("FILE");
  command
      .value("--sarif", files.sarif,
             "write the calls that do not pass as SARIF, at their source lines")
      .named("FILE");
  command.value("--db", files.database, "add the results to this SQLite database").named("FILE");
}

void declare_workbook(cli::Parser& command, ReportFiles& files) {
  command.group("Output");
  command.flag("--xlsx", files.workbook,
               "also write the tables as a spreadsheet, with coloured verdicts, beside the results "
               "or to FILE (*.xlsx)");
}

Result<std::vector<ReportRun>> read_runs(const ReportJob& job) {
  Result<documented::Standards> standards = load_standards(job.verdict);
  if (!standards) return propagate(standards);
  return report::read_result_runs({.csvs = job.csvs,
                                   .dump = job.dump,
                                   .profile = job.verdict.profile,
                                   .profile_given = job.profile_given,
                                   .standards = *std::move(standards),
                                   .places = job.places,
                                   .device_library = job.device_library,
                                   .say = &log::write});
}

Result<void> write_runs(const ReportFiles& files, std::span<const ReportRun> runs,
                        const fs::path& beside, FailOn fail_on) {
  if (!files.html.empty()) {
    const fs::path path = files.html == report::kBesideResults ? beside : fs::path(files.html);
    const Result<void> written = report::write_html_report(path, runs, kVersion);
    if (!written) return written;
    log::info("report is saved in {}", path.string());
  }
  return report::write_machine_files(files, runs, fail_on, kVersion);
}

Result<void> write_job_workbook(const ReportFiles& files, const ReportJob& job,
                                const fs::path& beside) {
  if (files.workbook.empty()) return {};
  const fs::path path = report::workbook_path(files, beside);
  const Result<void> written = report::write_result_workbook(path, job.csvs, job.places);
  if (written) log::info("tables are saved in {}", path.string());
  return written;
}

Result<void> write_report_files(const ReportFiles& files, const ReportJob& job) {
  if (!files.any()) return {};
  fs::path first = job.csvs.front();
  if (!job.directory.empty()) first = job.directory / first.filename();
  const Result<void> workbook = write_job_workbook(files, job, first);
  if (!workbook) return workbook;
  const Result<std::vector<ReportRun>> runs = read_runs(job);
  if (!runs) return propagate(runs);
  return write_runs(files, *runs, page_path(files, first), job.verdict.fail_on());
}

}  // namespace msprobe::app
