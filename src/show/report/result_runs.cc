// SPDX-License-Identifier: Apache-2.0
#include "report/result_runs.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "core/look_up.h"
#include "journal/csv_pair.h"
#include "journal/run_file.h"
#include "report/changes.h"
#include "report/describe_calls.h"
#include "report/error_maps.h"
#include "report/read_results.h"
#include "report/scripts.h"

namespace msprobe::report {
namespace {

namespace fs = std::filesystem;

// From the run file beside a check's pair; empty without one.
Result<journal::RunFacts> read_facts(const fs::path& details) {
  const journal::CsvNames names;
  std::string name = details.stem().string();
  if (!name.starts_with(names.details)) return journal::RunFacts{};
  name.replace(0, names.details.size(), names.run);
  const fs::path path = details.parent_path() / (name + std::string(journal::kRunFileSuffix));
  const Result<bool> there = is_there(path);
  if (!there) return propagate(there);
  if (!*there) return journal::RunFacts{};
  const Result<journal::RunFile> file = journal::RunFile::inspect(path);
  if (file) return file->facts();
  if (file.error().kind == ErrorKind::kIo) return propagate(file);
  return journal::RunFacts{};
}

std::string fact(const journal::RunFacts& facts, std::string_view key) {
  const auto found = std::ranges::find(facts, key, &std::pair<std::string, std::string>::first);
  return found == facts.end() ? std::string() : found->second;
}

// Without the dump, the report lacks only what comes from it; the one that --dump names is wanted.
Result<void> describe(ReportRun& run, const std::string& dump, const ResultRunsJob& job) {
  if (dump.empty()) return {};
  if (const Result<bool> there = is_there(dump); there && !*there) {
    job.say(log::Severity::kInfo,
            fmt::format("{} does not exist: the report shows no arguments and no stacks", dump));
    return {};
  }
  const Result<std::string> warning = describe_calls(run, dump);
  if (!warning) {
    if (!job.dump.empty()) return propagate(warning);
    job.say(log::Severity::kWarning,
            fmt::format("no arguments and stacks in the report: {}", warning.error().message));
    return {};
  }
  if (!warning->empty()) job.say(log::Severity::kWarning, *warning);
  run.dump = dump;
  run.origin.emplace_back("dump", dump);
  return {};
}

// Maps are an extra: a fault of their file is reported, and the report goes on.
void add_error_maps(ReportRun& run, const fs::path& details, const ResultRunsJob& job) {
  const fs::path path = map_path(details);
  if (const Result<bool> there = is_there(path); there && !*there) return;
  const Result<std::size_t> left_out = read_error_maps(run, path);
  if (!left_out) {
    job.say(log::Severity::kWarning,
            fmt::format("the report shows no error maps: {}", left_out.error().message));
  } else if (*left_out > 0) {
    job.say(log::Severity::kWarning,
            fmt::format("{}: {} lines are damaged or of other calls, and are not shown",
                        path.string(), *left_out));
  }
}

Result<ReportRun> read_check(const ResultFiles& files, const ResultRunsJob& job) {
  const Result<journal::RunFacts> recorded = read_facts(files.details);
  if (!recorded) {
    job.say(log::Severity::kWarning,
            fmt::format("the report shows no commands, and judges by --profile: {}",
                        recorded.error().message));
  }
  const journal::RunFacts facts = recorded.value_or(journal::RunFacts());
  JudgedBy judged_by{.profile = job.profile, .standards = job.standards, .device = {}};
  if (!job.profile_given && fact(facts, "profile") == "reference") {
    judged_by.profile = documented::Profile::kReference;
  }
  const std::string device = fact(facts, "device");
  judged_by.device = device.substr(0, device.find(':'));
  Result<ReportRun> run = read_run(files, judged_by);
  if (!run) return run;
  if (!device.empty()) run->title = device;
  run->dump_hash = fact(facts, "dump");
  add_error_maps(*run, files.details, job);
  read_scripts(*run, scripts_directory(files.details));
  for (const std::string_view key : {"device", "torch", "profile", "seed", "recorded"}) {
    if (std::string value = fact(facts, key); !value.empty()) {
      run->origin.emplace_back(key, std::move(value));
    }
  }
  const Result<CallCommand> rerun = journal::rerun_of(facts);
  if (!rerun) {
    job.say(log::Severity::kWarning,
            fmt::format("{}: the record of this run is not to be trusted: {}",
                        files.details.string(), rerun.error().message));
    run->rerun = {};
  } else if (!rerun->empty()) {
    run->rerun =
        rerun->without_code(CallCommand("acc_check").add("--device-lib", job.device_library));
    if (run->rerun != *rerun) {
      job.say(log::Severity::kWarning,
              fmt::format("{}: its command loads {}; commands in the report leave that out",
                          files.details.string(), rerun->value_of("--device-lib")));
    }
  }
  const fs::path directory = fact(facts, "as_given_directory");
  run->rerun = run->rerun.from_anywhere(directory.empty() ? fs::current_path() : directory);
  const std::string dump = job.dump.empty() ? run->rerun.recording() : job.dump;
  if (const Result<void> done = describe(*run, dump, job); !done) return propagate(done);
  return run;
}

Result<ReportRun> read_comparison(const ResultFiles& files, const ResultRunsJob& job,
                                  const std::vector<ReportRun>& checks) {
  const JudgedBy judged_by{.profile = job.profile, .standards = job.standards, .device = "npu"};
  Result<ReportRun> run = read_run(files, judged_by);
  if (!run) return run;
  run->title = "comparison";
  if (checks.size() < 2) return run;
  add_side(*run, checks[0], "device");
  add_side(*run, checks[1], "reference");
  set_compare_limits(*run, judged_by);
  run->rerun = checks[0].rerun;
  run->origin.emplace_back("device under test", checks[0].origin.front().second);
  run->origin.emplace_back("reference device", checks[1].origin.front().second);
  const Result<void> done = describe(*run, checks[0].dump, job);
  if (!done) return propagate(done);
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
  Changes changes = changes_between(older, newer, FailOn::kStrict);
  newer.since = Since{older.title + ", old", std::move(changes.appeared), std::move(changes.fixed),
                      std::move(changes.still)};
  add_side(newer, older, "reference");
  older.title += ", old";
  newer.title += ", new";
}

}  // namespace

std::string recorded_device(const fs::path& details) {
  return fact(read_facts(details).value_or(journal::RunFacts()), "device");
}

Result<std::vector<ReportRun>> read_result_runs(const ResultRunsJob& job) {
  std::vector<ReportRun> checks;
  std::vector<ResultFiles> comparisons;
  for (const fs::path& csv : job.csvs) {
    const Result<ResultFiles> files = find_result_files(csv);
    if (!files) return propagate(files);
    if (files->compare) {
      comparisons.push_back(*files);
      continue;
    }
    Result<ReportRun> run = read_check(*files, job);
    if (!run) return propagate(run);
    if (!job.places.empty()) {
      run->place = job.places[checks.size()];
      run->title = run->place + " " + run->title;
    }
    checks.push_back(std::move(*run));
  }
  std::vector<ReportRun> runs;
  for (const ResultFiles& files : comparisons) {
    Result<ReportRun> run = read_comparison(files, job, checks);
    if (!run) return propagate(run);
    runs.push_back(std::move(*run));
  }
  // Two checks and no comparison of them: of one device an older and a newer one, else the second
  // is what the first is seen beside.
  if (comparisons.empty() && checks.size() == 2 && job.places.empty()) {
    if (same_device(checks[0], checks[1])) {
      compare_in_time(checks[0], checks[1]);
    } else {
      add_side(checks[0], checks[1], "reference");
    }
  }
  std::ranges::move(checks, std::back_inserter(runs));
  return runs;
}

}  // namespace msprobe::report
