// SPDX-License-Identifier: Apache-2.0
// msprobe report: results in, one HTML page (and files for machines) out.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "check_results.h"
#include "cli/parser.h"
#include "command.h"
#include "core/path_check.h"
#include "report/calls_json.h"
#include "report_options.h"
#include "summary.h"

namespace msprobe::app {
namespace {

constexpr const char* kPage = "report.html";

struct ReportArguments {
  std::vector<std::string> csvs;
  std::string out;   // the page; empty: kPage, unless only --json is wanted
  std::string json;  // "" without --json, "true" with it, else the file
  ReportJob job;
  report::ReportFiles files;
};

ExitStatus run(ReportArguments& arguments) {
  for (const std::string& csv : arguments.csvs) {
    const Result<std::vector<NamedResult>> results = results_to_show(csv);
    if (!results) return refuse(results.error());
    if (!results->front().place.empty()) {
      if (arguments.csvs.size() > 1) {
        return refuse({ErrorKind::kUsage,
                       fmt::format("{} is a check of several dumps: name it alone; msprobe diff "
                                   "compares two of them",
                                   csv)});
      }
      arguments.job.directory = csv;
    }
    for (const NamedResult& result : *results) {
      arguments.job.csvs.push_back(result.csv);
      if (!result.place.empty()) arguments.job.places.push_back(result.place);
    }
  }
  if (!arguments.job.dump.empty()) {
    const Result<std::filesystem::path> dump =
        check_input_file(arguments.job.dump, {.suffix = ".json"});
    if (!dump) return refuse(dump.error());
  }
  const std::string ending = std::filesystem::path(arguments.out).extension().string();
  if (!arguments.out.empty() && ending != ".html" && ending != ".htm") {
    return refuse({ErrorKind::kUsage,
                   fmt::format("-o {}: the report is an HTML page, so name a .html file; --xlsx, "
                               "--junit and --sarif write other formats",
                               arguments.out)});
  }
  const bool page_too = arguments.json.empty() || !arguments.out.empty();
  if (page_too) arguments.files.html = arguments.out.empty() ? kPage : arguments.out;
  const Result<void> written = write_report_files(arguments.files, arguments.job);
  if (!written) return refuse(written.error());
  if (arguments.json.empty()) return kPassed;
  const Result<std::vector<report::ReportRun>> runs = read_runs(arguments.job);
  if (!runs) return refuse(runs.error());
  const Result<void> shown = write_json(arguments.json, report::calls_json(*runs));
  return shown ? kPassed : refuse(shown.error());
}

}  // namespace

Run declare_report(cli::Parser& command) {
  auto arguments = std::make_shared<ReportArguments>();
  command.group("Input");
  command
      .value("CSV", arguments->csvs,
             "result or details CSVs of acc_check, multi_acc_check, merge_checks and "
             "api_precision_compare, or the -o directory of a check (of one dump, or of several)")
      .required();
  command
      .value("--dump", arguments->job.dump,
             "dump.json of the calls, for arguments and stacks (default: the one that was "
             "checked)")
      .named("DUMP");
  command.group("Output");
  command.value("-o,--out", arguments->out, "the HTML file (default: report.html)").named("FILE");
  command.flag(
      "--json", arguments->json,
      "print every call with all its numbers as JSON, or write it to FILE (*.json); no page "
      "without -o");
  declare_machine_files(command, arguments->files);
  declare_workbook(command, arguments->files);
  declare_verdict_options(command, arguments->job.verdict, /*has_strict=*/true);
  return [arguments, &command] {
    arguments->job.profile_given = command.given("--profile");
    return run(*arguments);
  };
}

}  // namespace msprobe::app
