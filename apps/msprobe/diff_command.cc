// SPDX-License-Identifier: Apache-2.0
// msprobe diff: two checks of the same calls -> what fails now that did not, what was fixed.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "check_results.h"
#include "cli/parser.h"
#include "command.h"
#include "core/path_check.h"
#include "report/changes.h"
#include "report/changes_text.h"
#include "report_options.h"

namespace msprobe::app {
namespace {

using report::Changes;
using report::ReportRun;

struct DiffArguments {
  std::string older;
  std::string newer;
  ReportJob job;
  bool json = false;
};

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
    return refuse(
        {ErrorKind::kUsage,
         "one file is from a check, the other from a comparison: pass two of the same kind"});
  }
  const Changes changes = report::changes_between(older, newer, fail_on);
  if (changes.in_both == 0) {
    return refuse({ErrorKind::kUsage,
                   fmt::format("{} and {} have no call in common: they come from different dumps",
                               arguments.older, arguments.newer)});
  }
  fmt::print("{}", arguments.json ? report::changes_json(newer, changes) + "\n"
                                  : report::changes_text(newer, changes));
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
