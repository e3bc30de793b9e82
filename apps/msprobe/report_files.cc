// SPDX-License-Identifier: Apache-2.0
#include "report_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/parser.h"
#include "core/log.h"
#include "core/path_check.h"
#include "journal/run_file.h"
#include "report/changes.h"
#include "report/commands.h"
#include "report/database.h"
#include "report/describe_calls.h"
#include "report/error_maps.h"
#include "report/html_report.h"
#include "report/junit.h"
#include "report/read_results.h"
#include "report/sarif.h"
#include "tables/workbook.h"
#include "version.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;
using report::ReportRun;

// The run file beside a check's pair; empty where there is none.
journal::RunFacts recorded_facts(const fs::path& details) {
  std::string name = details.filename().string();
  const std::string_view start = "accuracy_checking_details_";
  if (name == "accuracy_checking_details.csv") {  // of run_ut
    const Result<journal::RunFile> file =
        journal::RunFile::inspect(details.parent_path() / "accuracy_checking_run.txt");
    return file ? file->facts() : journal::RunFacts{};
  }
  if (!name.starts_with(start)) return {};
  const fs::path stem(name.substr(start.size()));
  const fs::path path =
      details.parent_path() /
      fmt::format("{}{}{}", journal::kRunFileStart, stem.stem().string(), journal::kRunFileSuffix);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  const Result<journal::RunFile> file = journal::RunFile::inspect(path);
  return file ? file->facts() : journal::RunFacts{};
}

std::string fact(const journal::RunFacts& facts, std::string_view key) {
  const auto found = std::ranges::find(facts, key, &std::pair<std::string, std::string>::first);
  return found == facts.end() ? std::string() : found->second;
}

// The word behind -api_info, or -forward of run_ut, in a re-run command.
std::string dump_of(std::string_view rerun) {
  for (const std::string_view option : {"-api_info ", "-forward "}) {
    const std::size_t at = rerun.find(option);
    if (at == std::string_view::npos) continue;
    rerun.remove_prefix(at + option.size());
    return std::string(rerun.substr(0, rerun.find(' ')));
  }
  return {};
}

// Without the dump, the report lacks only what comes from it.
void describe(ReportRun& run, const std::string& dump) {
  if (dump.empty()) return;
  std::error_code error;
  if (!fs::is_regular_file(dump, error)) {
    log::info("{} is not there: the report shows no arguments and no stacks", dump);
    return;
  }
  const Result<std::string> warning = report::describe_calls(run, dump);
  if (!warning) {
    log::warning("no arguments and stacks in the report: {}", warning.error().message);
    return;
  }
  if (!warning->empty()) log::warning("{}", *warning);
  run.dump = dump;
  run.origin.emplace_back("dump", dump);
}

// Maps are an extra: what is wrong with their file is said, and the report goes on.
void add_error_maps(ReportRun& run, const fs::path& details) {
  const fs::path path = report::map_path(details);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;
  const Result<std::size_t> left_out = report::read_error_maps(run, path);
  if (!left_out) {
    log::warning("the report shows no error maps: {}", left_out.error().message);
  } else if (*left_out > 0) {
    log::warning("{}: {} lines are damaged or of other calls, and are not shown", path.string(),
                 *left_out);
  }
}

Result<ReportRun> read_check(const report::ResultFiles& files, const ReportJob& job,
                             const judge::Standards& standards) {
  const journal::RunFacts facts = recorded_facts(files.details);
  report::JudgedBy judged_by{.profile = job.verdict.profile, .standards = standards, .device = {}};
  if (!job.profile_given && fact(facts, "profile") == "reference") {
    judged_by.profile = judge::Profile::kReference;
  }
  const std::string device = fact(facts, "device");
  judged_by.device = device.substr(0, device.find(':'));
  Result<ReportRun> run = report::read_run(files, judged_by);
  if (!run) return run;
  if (!device.empty()) run->title = device;
  add_error_maps(*run, files.details);
  for (const std::string_view key : {"device", "torch", "profile", "seed", "recorded"}) {
    if (std::string value = fact(facts, key); !value.empty()) {
      run->origin.emplace_back(key, std::move(value));
    }
  }
  if (std::string rerun = fact(facts, "as_given_rerun"); !rerun.empty()) {
    run->rerun_command = std::move(rerun);
  }
  const fs::path directory = fact(facts, "as_given_directory");
  run->rerun_command =
      report::from_anywhere(run->rerun_command, directory.empty() ? fs::current_path() : directory);
  describe(*run, job.dump.empty() ? dump_of(run->rerun_command) : job.dump);
  return run;
}

Result<ReportRun> read_comparison(const report::ResultFiles& files, const ReportJob& job,
                                  const judge::Standards& standards,
                                  const std::vector<ReportRun>& checks) {
  const report::JudgedBy judged_by{
      .profile = job.verdict.profile, .standards = standards, .device = "npu"};
  Result<ReportRun> run = report::read_run(files, judged_by);
  if (!run) return run;
  run->title = "comparison";
  if (checks.size() < 2) return run;
  report::add_side(*run, checks[0], "device");
  report::add_side(*run, checks[1], "reference");
  report::set_compare_limits(*run, judged_by);
  run->rerun_command = checks[0].rerun_command;
  run->origin.emplace_back("device under test", checks[0].origin.front().second);
  run->origin.emplace_back("reference device", checks[1].origin.front().second);
  describe(*run, checks[0].dump);
  return run;
}

// By the checks' own records; titles alone may be names of files.
bool same_device(const ReportRun& one, const ReportRun& other) {
  const auto device = [](const ReportRun& run) {
    const auto found =
        std::ranges::find(run.origin, "device", &std::pair<std::string, std::string>::first);
    return found == run.origin.end() ? std::string() : found->second;
  };
  return !device(one).empty() && device(one) == device(other);
}

void compare_in_time(ReportRun& older, ReportRun& newer) {
  const bool strict = std::ranges::any_of(
      newer.calls, [](const report::ReportCall& call) { return call.strict.has_value(); });
  report::Changes changes = report::changes_between(older, newer, strict ? "strict" : "error");
  newer.since = report::Since{older.title + ", old", std::move(changes.appeared),
                              std::move(changes.fixed), std::move(changes.still)};
  report::add_side(newer, older, "reference");
  older.title += ", old";
  newer.title += ", new";
}

// accuracy_checking_details_1.csv -> accuracy_checking_report_1.html
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

}  // namespace

fs::path page_path(const ReportFiles& files, const fs::path& csv) {
  if (files.html != kBesideResults) return files.html;
  return beside_csv(csv, "report", ".html");
}

void declare_report_options(cli::Parser& command, ReportFiles& files) {
  command.group("Output");
  command.flag("--report", files.html,
               "write an HTML report beside the results, or to FILE (*.html)");
  declare_machine_files(command, files);
}

void declare_machine_files(cli::Parser& command, ReportFiles& files) {
  command.group("Output");
  command.value("--junit", files.junit, "write the verdicts as JUnit XML").named("FILE");
  command
      .value("--sarif", files.sarif,
             "write what does not pass as SARIF, at the source lines of stack.json")
      .named("FILE");
  command.value("--db", files.database, "add the results to this SQLite database").named("FILE");
}

void declare_workbook(cli::Parser& command, ReportFiles& files) {
  command.group("Output");
  command.flag("--xlsx", files.workbook,
               "write the tables as a spreadsheet too, with coloured verdicts, beside the results "
               "or to FILE (*.xlsx)");
}

Result<std::vector<ReportRun>> read_runs(const ReportJob& job) {
  const Result<judge::Standards> standards = load_standards(job.verdict);
  if (!standards) return propagate(standards);
  std::vector<ReportRun> checks;
  std::vector<report::ResultFiles> comparisons;
  for (const fs::path& csv : job.csvs) {
    const Result<report::ResultFiles> files = report::find_result_files(csv);
    if (!files) return propagate(files);
    if (files->compare) {
      comparisons.push_back(*files);
      continue;
    }
    Result<ReportRun> run = read_check(*files, job, *standards);
    if (!run) return propagate(run);
    if (!job.places.empty()) run->title = job.places[checks.size()] + " " + run->title;
    checks.push_back(std::move(*run));
  }
  std::vector<ReportRun> runs;
  for (const report::ResultFiles& files : comparisons) {
    Result<ReportRun> run = read_comparison(files, job, *standards, checks);
    if (!run) return propagate(run);
    runs.push_back(std::move(*run));
  }
  // Two checks and no comparison of them: of one device an older and a newer one, else the second
  // is what the first is seen beside.
  if (comparisons.empty() && checks.size() == 2 && job.places.empty()) {
    if (same_device(checks[0], checks[1])) {
      compare_in_time(checks[0], checks[1]);
    } else {
      report::add_side(checks[0], checks[1], "reference");
    }
  }
  std::ranges::move(checks, std::back_inserter(runs));
  return runs;
}

Result<void> write_runs(const ReportFiles& files, std::span<const ReportRun> runs,
                        const fs::path& beside, std::string_view fail_on) {
  if (!files.html.empty()) {
    const fs::path path = files.html == kBesideResults ? beside : fs::path(files.html);
    const Result<void> written = report::write_html_report(path, runs, kVersion);
    if (!written) return written;
    log::info("report is saved in {}", path.string());
  }
  if (!files.junit.empty()) {
    const Result<void> written = report::write_junit(files.junit, runs, fail_on);
    if (!written) return written;
  }
  if (!files.sarif.empty()) {
    const Result<void> written = report::write_sarif(files.sarif, runs, kVersion);
    if (!written) return written;
  }
  if (!files.database.empty()) return report::add_to_database(files.database, runs);
  return {};
}

Result<void> write_job_workbook(const ReportFiles& files, const ReportJob& job,
                                const fs::path& beside) {
  if (files.workbook.empty()) return {};
  std::vector<tables::Sheet> sheets;
  for (std::size_t i = 0; i < job.csvs.size(); ++i) {
    const Result<report::ResultFiles> found = report::find_result_files(job.csvs[i]);
    if (!found) return propagate(found);
    const std::string place = i < job.places.size() ? " " + job.places[i] : "";
    const std::string_view kind = found->compare ? "comparison " : "";
    if (!found->result.empty()) {
      sheets.push_back({fmt::format("{}result{}", kind, place), found->result});
    }
    sheets.push_back({fmt::format("{}details{}", kind, place), found->details});
  }
  const fs::path path = files.workbook == kBesideResults ? beside_csv(beside, "tables", ".xlsx")
                                                         : fs::path(files.workbook);
  const Result<void> written = tables::write_workbook(path, sheets);
  if (written) log::info("tables are saved in {}", path.string());
  return written;
}

Result<void> write_report_files(const ReportFiles& files, const ReportJob& job) {
  if (!files.any()) return {};
  const Result<void> workbook = write_job_workbook(files, job, job.csvs.front());
  if (!workbook) return workbook;
  const Result<std::vector<ReportRun>> runs = read_runs(job);
  if (!runs) return propagate(runs);
  return write_runs(files, *runs, page_path(files, job.csvs.front()), job.verdict.fail_on);
}

}  // namespace msprobe::app
