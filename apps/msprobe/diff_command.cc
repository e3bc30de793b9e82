// SPDX-License-Identifier: Apache-2.0
// msprobe diff: two checks of the same calls -> what fails now that did not, what was fixed.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "check_results.h"
#include "cli/parser.h"
#include "command.h"
#include "core/json_writer.h"
#include "core/log.h"
#include "report/answer.h"
#include "report/changes.h"
#include "report_files.h"
#include "tables/text_table.h"

namespace msprobe::app {
namespace {

using report::Changes;
using report::ReportCall;
using report::ReportRun;

struct DiffArguments {
  std::string older;
  std::string newer;
  ReportJob job;
  bool json = false;
};

std::string over_bound_text(const ReportRun& run, const ReportCall& call) {
  const double size = report::worst_over_bound(run, call);
  return size == report::kNoNumber ? "" : fmt::format("{:.3g} x bound", size);
}

void print_calls(std::string_view title, const ReportRun& run,
                 const std::vector<std::size_t>& calls) {
  if (calls.empty()) return;
  tables::TextTable table{{fmt::format("{} ({})", title, calls.size()), "Error", "Cause", "Line"},
                          {}};
  for (const std::size_t i : calls) {
    const ReportCall& call = run.calls[i];
    table.rows.push_back({call.name, over_bound_text(run, call), report::why(run, call),
                          report::source_line(run, call)});
  }
  fmt::print("{}\n", tables::render(table, false));
}

void write_calls(JsonWriter& json, std::string_view key, const ReportRun& run,
                 const std::vector<std::size_t>& calls) {
  json.key(key).begin_array();
  for (const std::size_t i : calls) {
    json.begin_object().key("call").value(run.calls[i].name);
    json.key("cause").value(report::why(run, run.calls[i])).end_object();
  }
  json.end_array();
}

std::string changes_json(const ReportRun& newer, const Changes& changes) {
  JsonWriter json;
  json.begin_object();
  write_calls(json, "new", newer, changes.appeared);
  write_calls(json, "fixed", newer, changes.fixed);
  write_calls(json, "still_failing", newer, changes.still);
  json.key("in_both").value(changes.in_both).key("only_old").value(changes.only_old);
  json.key("only_new").value(changes.only_new).end_object();
  return json.text();
}

ExitStatus run(DiffArguments& arguments) {
  for (const std::string& csv : {arguments.older, arguments.newer}) {
    const Result<std::filesystem::path> path = result_to_show(csv);
    if (!path) return refuse(path.error());
    arguments.job.csvs.push_back(*path);
  }
  const Result<std::vector<ReportRun>> runs = read_runs(arguments.job);
  if (!runs) return refuse(runs.error());
  const std::string& fail_on = arguments.job.verdict.fail_on;
  const ReportRun& older = runs->front();
  const ReportRun& newer = runs->back();
  if (older.kind != newer.kind) {
    return refuse({ErrorKind::kUsage,
                   "one is of a check, the other of a comparison: give two of the same command"});
  }
  const Changes changes = report::changes_between(older, newer, fail_on);
  if (changes.in_both == 0) {
    return refuse({ErrorKind::kUsage,
                   fmt::format("{} and {} have no call in common: they are not of the same dump",
                               arguments.older, arguments.newer)});
  }
  if (arguments.json) {
    fmt::print("{}\n", changes_json(newer, changes));
  } else {
    print_calls("New failures", newer, changes.appeared);
    print_calls("Fixed", newer, changes.fixed);
    print_calls("Still failing", newer, changes.still);
    fmt::print(
        "{} new, {} fixed, {} still failing; {} calls in both, {} only in the old, {} only "
        "in the new\n",
        changes.appeared.size(), changes.fixed.size(), changes.still.size(), changes.in_both,
        changes.only_old, changes.only_new);
  }
  return changes.appeared.empty() ? kPassed : kFailed;
}

}  // namespace

Run declare_diff(cli::Parser& command) {
  auto arguments = std::make_shared<DiffArguments>();
  command.group("Input");
  command
      .value("OLD", arguments->older,
             "result or details CSV of the earlier check, or its directory")
      .required();
  command
      .value("NEW", arguments->newer, "result or details CSV of the later check, or its directory")
      .required();
  command
      .value("--dump", arguments->job.dump,
             "dump.json of the calls, for source lines (default: the one that was checked)")
      .named("DUMP");
  command.group("Output");
  command.flag("--json", arguments->json, "print the lists as JSON");
  declare_verdict_options(command, arguments->job.verdict, /*has_strict=*/true);
  return [arguments, &command] {
    arguments->job.profile_given = command.given("--profile");
    return run(*arguments);
  };
}

}  // namespace msprobe::app
