// SPDX-License-Identifier: Apache-2.0
#include "selfcheck/self_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "check/run_check.h"
#include "core/file.h"
#include "core/new_file.h"
#include "dump/dump_json.h"
#include "final_verdict/api_precision_compare.h"
#include "tables/detail_columns.h"
#include "tables/table_reader.h"

namespace msprobe::selfcheck {
namespace {

namespace fs = std::filesystem;

struct Ran {
  Evidence evidence;
  fs::path details_csv;
  std::size_t calls = 0;
  bool interrupted = false;
};

std::string file_name(const std::string& scenario) {
  std::string name = scenario;
  std::ranges::replace_if(name, [](char c) { return c == ' ' || c == ','; }, '_');
  return name;
}

Result<std::vector<std::string>> first_calls(const fs::path& dump, std::size_t count) {
  std::vector<std::string> names;
  if (count == 0) return names;
  const Result<dump::DumpIndex> index = dump::open_dump(dump);
  if (!index) return propagate(index);
  for (const dump::CallSlice& call : index->calls) {
    if (names.size() < count) names.emplace_back(call.full_name);
  }
  return names;
}

Result<check::CheckOptions> check_options(const SelfCheckOptions& options, const Scenario& scenario,
                                          const fs::path& directory) {
  check::CheckOptions check;
  check.dump = options.dump;
  check.out_directory = directory;
  check.request.engine.program = options.engine;
  check.request.devices = {"sim:0"};
  check.request.workers = options.jobs;
  check.request.engine.sim_profile = scenario.profile;
  check.request.engine.sim_log = (directory / "device.log").string();
  check.sim_config_text = scenario.rules;
  if (!scenario.rules.empty()) {
    check.request.engine.sim_config = (directory / "sim.yaml").string();
    const Result<void> written = write_new_file(check.request.engine.sim_config, scenario.rules);
    if (!written) return propagate(written);
  }
  check.request.engine.replay.allow_tf32 = scenario.allow_tf32;
  check.dispatch.timeout_seconds = scenario.timeout_seconds;
  check.dispatch.interrupt = options.interrupt;
  check.timestamp = options.timestamp;
  check.say = [](log::Severity, const std::string&) {};
  Result<std::vector<std::string>> only = first_calls(options.dump, scenario.calls);
  if (!only) return propagate(only);
  check.request.only = std::move(*only);
  return check;
}

// The calls whose row says that they were lost: no verdict, and a reason.
Result<std::set<std::string>> lost_calls(const fs::path& csv) {
  const Result<FileBytes> file = load_file(csv);
  if (!file) return propagate(file);
  auto table = tables::TableReader<documented::ResultRow>::start(
      file->text(), csv.filename().string(), tables::result_columns());
  if (!table) return propagate(table);
  std::set<std::string> lost;
  documented::ResultRow row;
  while (true) {
    const Result<bool> more = table->next(row);
    if (!more) return propagate(more);
    if (!*more) return lost;
    const bool skipped = row.forward == Verdict::kSkip || row.backward == Verdict::kSkip;
    const bool said = std::ranges::any_of(
        std::initializer_list<std::string_view>{"crash", "time", "out_of_memory", "device_failed"},
        [&](std::string_view word) { return row.message.find(word) != std::string::npos; });
    if (skipped && said) lost.insert(row.api_name);
  }
}

Result<Ran> run_scenario(const SelfCheckOptions& options, const Scenario& scenario,
                         const std::function<void(std::size_t, std::size_t)>& show) {
  const fs::path directory = options.directory / file_name(scenario.name);
  std::error_code error;
  fs::remove_all(directory, error);
  if (const Result<void> made = make_directories(directory); !made) return propagate(made);
  Result<check::CheckOptions> check = check_options(options, scenario, directory);
  if (!check) return propagate(check);
  check->show_progress = show;
  const Result<check::CheckOutcome> outcome = check::run_check(*check);
  if (!outcome) return propagate(outcome, scenario.name);
  Ran ran;
  ran.interrupted = outcome->interrupted;
  ran.details_csv = outcome->paths.details;
  ran.calls = outcome->total;
  if (ran.interrupted) return ran;
  Result<DeviceLog> log = read_log(check->request.engine.sim_log);
  if (!log) return propagate(log);
  ran.evidence.log = std::move(*log);
  Result<Details> details = read_details(outcome->paths.details);
  if (!details) return propagate(details);
  ran.evidence.details = std::move(*details);
  Result<std::set<std::string>> lost = lost_calls(outcome->paths.result);
  if (!lost) return propagate(lost);
  ran.evidence.lost = std::move(*lost);
  return ran;
}

Result<void> compare_with_exact(const SelfCheckOptions& options, const fs::path& exact, Ran& ran) {
  final_verdict::PrecisionOptions job{.npu_csv = ran.details_csv,
                                      .gpu_csv = exact,
                                      .out_dir = ran.details_csv.parent_path(),
                                      .timestamp = options.timestamp(),
                                      .profile = documented::Profile::kDocumented,
                                      .titles = tables::Titles::kEnglish,
                                      .standards = {},
                                      .warn = {},
                                      .on_result = {}};
  job.on_result = [&](const documented::ResultRow& row) {
    if (row.forward) ran.evidence.compared[{row.api_name, false}] = *row.forward;
    if (row.backward) ran.evidence.compared[{row.api_name, true}] = *row.backward;
  };
  const auto compared = final_verdict::api_precision_compare(job);
  if (!compared) return propagate(compared);
  return {};
}

}  // namespace

Result<SelfCheckOutcome> run(const SelfCheckOptions& options) {
  std::vector<Scenario> all = scenarios();
  const auto wanted = [&](const Scenario& scenario) {
    return options.only.empty() || scenario.name == all.front().name ||
           std::ranges::find(options.only, scenario.name) != options.only.end();
  };
  std::vector<Scenario> chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen), wanted);
  if (!options.only.empty() && chosen.size() != options.only.size() + 1 &&
      std::ranges::find(options.only, all.front().name) == options.only.end()) {
    return fail(ErrorKind::kUsage, "no such profile or fault");
  }
  SelfCheckOutcome outcome;
  Ran exact;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto show = [&](std::size_t done, std::size_t total) {
      const std::size_t parts = std::max<std::size_t>(total, 1);
      options.show(chosen[i].name, i * parts + done, chosen.size() * parts);
    };
    Result<Ran> ran = run_scenario(options, chosen[i], show);
    if (!ran) return propagate(ran);
    outcome.interrupted = ran->interrupted;
    if (ran->interrupted) return outcome;
    if (i == 0) {
      exact = *ran;
      outcome.calls = ran->calls;
    } else if (Result<void> done = compare_with_exact(options, exact.details_csv, *ran); !done) {
      return propagate(done, chosen[i].name);
    }
    outcome.scores.push_back(score(chosen[i], ran->evidence, exact.evidence));
  }
  return outcome;
}

}  // namespace msprobe::selfcheck
