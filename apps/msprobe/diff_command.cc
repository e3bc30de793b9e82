// SPDX-License-Identifier: Apache-2.0
// msprobe diff: two checks of the same calls -> what fails now that did not, what was fixed.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "check_results.h"
#include "cli/parser.h"
#include "command.h"
#include "core/json_writer.h"
#include "core/visible_text.h"
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
  bool other_dump = false;
  bool json = false;
};

struct Compared {
  std::string place;  // "step1/rank0" of checks of several dumps
  ReportRun older;
  ReportRun newer;
  Changes changes;
};

// An error names `older` and `newer`, as the user would.
Result<Compared> compare(const DiffArguments& arguments, const NamedResult& older,
                         const NamedResult& newer) {
  ReportJob job = arguments.job;
  job.csvs = {older.csv, newer.csv};
  Result<std::vector<ReportRun>> runs = read_runs(job);
  if (!runs) return propagate(runs);
  if (runs->front().kind != runs->back().kind) {
    return fail(ErrorKind::kUsage,
                "one file is from a check, the other from a comparison: pass two of the same kind");
  }
  const std::string old_name = older.place.empty() ? arguments.older : older.csv.string();
  const std::string new_name = newer.place.empty() ? arguments.newer : newer.csv.string();
  const std::string& old_dump = runs->front().dump_hash;
  const std::string& new_dump = runs->back().dump_hash;
  Changes changes =
      report::changes_between(runs->front(), runs->back(), arguments.job.verdict.fail_on());
  if (changes.in_both == 0) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} and {} have no call in common: they come from different dumps",
                            old_name, new_name));
  }
  if (!arguments.other_dump && !old_dump.empty() && !new_dump.empty() && old_dump != new_dump) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} and {} are checks of different dumps, so calls of one name need "
                            "not be the same calls; if the same training was recorded again, "
                            "add --other-dump",
                            old_name, new_name));
  }
  return Compared{newer.place, std::move(runs->front()), std::move(runs->back()),
                  std::move(changes)};
}

std::string text_of(const std::vector<Compared>& compared, const std::vector<std::string>& alone) {
  if (compared.size() == 1 && compared.front().place.empty()) {
    const Compared& only = compared.front();
    return report::changes_text(only.older, only.newer, only.changes);
  }
  std::string text;
  for (const auto& [place, older, newer, changes] : compared) {
    const std::string calls = report::changed_calls_text(older, newer, changes);
    text += calls.empty() ? place + ": " : place + ":\n" + calls;
    text += report::changes_counts(changes);
  }
  for (const std::string& place : alone) text += fmt::format("{}: not compared\n", place);
  return text;
}

std::string json_of(const std::vector<Compared>& compared, const std::vector<std::string>& alone) {
  if (compared.size() == 1 && compared.front().place.empty()) {
    const Compared& only = compared.front();
    return report::changes_json(only.older, only.newer, only.changes);
  }
  JsonWriter json;
  json.begin_object().key("dumps").begin_array();
  for (const auto& [place, older, newer, changes] : compared) {
    json.begin_object().key("place").value(place);
    report::write_changes(json, older, newer, changes);
    json.end_object();
  }
  json.end_array().key("not_compared").begin_array();
  for (const std::string& place : alone) json.value(place);
  json.end_array().end_object();
  return json.text();
}

ExitStatus run(const DiffArguments& arguments) {
  const Result<void> good = check_fail_on(arguments.job.verdict);
  if (!good) return refuse(good.error());
  const Result<std::vector<NamedResult>> older = results_to_show(arguments.older);
  if (!older) return refuse(older.error());
  const Result<std::vector<NamedResult>> newer = results_to_show(arguments.newer);
  if (!newer) return refuse(newer.error());
  if (older->front().place.empty() != newer->front().place.empty()) {
    return refuse(
        {ErrorKind::kUsage,
         fmt::format(
             "one is a check of several dumps, the other of one: name the "
             "directory of one of its dumps, such as {}",
             (older->front().place.empty() ? newer : older)->front().csv.parent_path().string())});
  }
  std::vector<Compared> compared;
  std::vector<std::string> alone;
  for (const NamedResult& result : *newer) {
    const auto before = std::ranges::find(*older, result.place, &NamedResult::place);
    if (before == older->end()) {
      alone.push_back(result.place + " (only in the new)");
      continue;
    }
    Result<Compared> pair = compare(arguments, *before, result);
    if (!pair) return refuse(pair.error());
    compared.push_back(*std::move(pair));
  }
  for (const NamedResult& result : *older) {
    const auto after = std::ranges::find(*newer, result.place, &NamedResult::place);
    if (after == newer->end()) alone.push_back(result.place + " (only in the old)");
  }
  if (compared.empty()) {
    return refuse({ErrorKind::kUsage, fmt::format("{} and {} have no step and rank in common",
                                                  arguments.older, arguments.newer)});
  }
  fmt::print("{}", arguments.json ? json_of(compared, alone) + "\n"
                                  : visible_text(text_of(compared, alone)));
  const bool fails = std::ranges::any_of(
      compared, [](const Compared& one) { return !one.changes.appeared.empty(); });
  return fails ? kFailed : kPassed;
}

}  // namespace

Run declare_diff(cli::Parser& command) {
  auto arguments = std::make_shared<DiffArguments>();
  command.group("Input");
  command
      .value("OLD", arguments->older,
             "result or details CSV of the earlier check, or its directory (of one dump, or of "
             "several)")
      .required();
  command
      .value("NEW", arguments->newer, "result or details CSV of the later check, or its directory")
      .required();
  command
      .value("--dump", arguments->job.dump,
             "dump.json of the calls, for source lines (default: the one that was checked)")
      .named("DUMP");
  command.flag("--other-dump", arguments->other_dump,
               "compare checks of different dumps, call by call of the same name");
  command.group("Output");
  command.flag("--json", arguments->json, "print the lists as JSON");
  declare_verdict_options(command, arguments->job.verdict, /*has_strict=*/true);
  return [arguments, &command] {
    arguments->job.profile_given = command.given("--profile");
    return run(*arguments);
  };
}

}  // namespace msprobe::app
