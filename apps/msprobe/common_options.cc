// SPDX-License-Identifier: Apache-2.0
#include "common_options.h"

#include <map>

#include <fmt/format.h>

#include "cli/parser.h"
#include "core/log.h"
#include "documented/standards_file.h"
#include "sim/faults.h"
#include "tables/number_text.h"

namespace msprobe::app {
namespace {

std::vector<std::string> sim_profile_names() {
  std::vector<std::string> names;
  for (const sim::ProfileRow& row : sim::profiles()) names.emplace_back(row.name);
  return names;
}

}  // namespace

void declare_engine_options(cli::Parser& command, engines::EngineOptions& options) {
  command.group("Device");
  command
      .value("--device-lib", options.device_library,
             "shared library of an out-of-tree back end, or the Python module of one; the engine "
             "loads it")
      .named("LIBRARY");
  command
      .value("--sim-profile", options.sim_profile,
             "arithmetic of the simulated device, with -d sim")
      .named("PROFILE")
      .one_of_or(sim_profile_names(), "unit:")
      .choices_shown_by("msprobe help sim");
  command.value("--sim-config", options.sim_config, "faults of the simulated device, with -d sim")
      .named("YAML");
  command
      .value("--engine", options.program,
             "msprobe-engine to start (default: $MSPROBE_ENGINE, else the one beside msprobe)")
      .named("PROGRAM");
  command.value("--seed", options.replay.seed, "seed of generated inputs").shows_default();
  command.value("--threads", options.threads, "threads inside an operator")
      .between(1, 1024)
      .shows_default();
}

void declare_functions(cli::Parser& command, engines::EngineOptions& options) {
  command.group("Input");
  command
      .value("--reference", options.reference,
             "Python functions that are the benchmark of the APIs they name "
             "(docs/own_kernels.md)")
      .named("PY");
  command.group("Device");
  command
      .value("--kernel", options.kernel,
             "Python functions that stand in place of the device; only the APIs they name are "
             "checked")
      .named("PY");
}

void declare_older_files(cli::Parser& command, check::OlderFiles& files) {
  command.group(kMostUsed);
  command.value("-forward,--forward_input_file", files.forward, "forward_info_{pid}.json")
      .named("FILE");
  command.value("-backward,--backward_input_file", files.backward, "backward_info_{pid}.json")
      .named("FILE");
  command
      .value("--data_path", files.data,
             "directory of the recorded tensor files (default: that of the JSON file)")
      .named("DIR");
}

void declare_timeout(cli::Parser& command, double& seconds) {
  command.group("Device");
  command.value("--timeout", seconds, "time limit of a small call; large ones get more")
      .named("SECONDS")
      .positive()
      .shows_default();
}

void declare_jobs(cli::Parser& command, std::size_t& jobs) {
  command.group(kMostUsed);
  command.value("--jobs", jobs, "engines that share the work").between(1, 64).shows_default();
}

void declare_verdict_options(cli::Parser& command, documented::VerdictOptions& options,
                             bool has_strict) {
  static const std::map<std::string, documented::Profile> kProfiles{
      {"documented", documented::Profile::kDocumented},
      {"reference", documented::Profile::kReference}};
  command.group("Verdicts");
  command
      .value(
          "--profile",
          [&options](const std::string& name) { options.profile = kProfiles.at(name); },
          "rules to judge by: documented (default), or reference for those of the public tool")
      .one_of({"documented", "reference"});
  command
      .value("--standards", options.standards_file,
             "your own standards per API, dtype or device (docs/standards.md)")
      .named("YAML");
  declare_fail_on(command, options, has_strict);
}

void declare_fail_on(cli::Parser& command, documented::VerdictOptions& options, bool has_strict) {
  std::vector<std::string> fail_on{kFailOnNames.begin(), kFailOnNames.end()};
  if (!has_strict) fail_on = {"error", "warning"};
  command.group("Verdicts");
  command
      .value("--fail-on", options.fail_on_name,
             has_strict ? "what makes the exit status 1: the strict status (default); inconclusive "
                          "results too; or documented errors, or also documented warnings"
                        : "which verdicts make the exit status 1: error (default) or warning")
      .one_of(fail_on);
}

Result<void> check_fail_on(const documented::VerdictOptions& options) {
  if (!options.asks_for_strict() || options.profile == documented::Profile::kDocumented) return {};
  return fail(ErrorKind::kUsage, fmt::format("--fail-on {}: profile reference has no strict status",
                                             options.fail_on_name));
}

void declare_output_options(cli::Parser& command, tables::OutputOptions& options) {
  static const std::map<std::string, tables::Titles> kTitles{{"en", tables::Titles::kEnglish},
                                                             {"zh", tables::Titles::kChinese}};
  command.group("Output");
  command
      .value(
          "--titles", [&options](const std::string& name) { options.titles = kTitles.at(name); },
          "column titles: en (default), or zh as in the public tool")
      .one_of({"en", "zh"});
  command
      .value("--precision", options.precision,
             fmt::format("decimals of the numbers in the CSVs (default {})",
                         tables::kDefaultPrecision))
      .between(0, 20);
}

Result<documented::Standards> load_standards(const documented::VerdictOptions& options) {
  return documented::load_standards(options.standards_file);
}

ExitStatus refuse(const Error& error) {
  log::error("{}", error.message);
  return kCannot;
}

}  // namespace msprobe::app
