// SPDX-License-Identifier: Apache-2.0
#include "check_command.h"

#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "check/check_options.h"
#include "check/run_check.h"
#include "check_results.h"
#include "cli/parser.h"
#include "core/log.h"
#include "dump_input.h"
#include "interrupt.h"
#include "own_files.h"
#include "report/scripts.h"
#include "shrink/shrink_call.h"
#include "sim/fired_rules.h"
#include "tables/older_summary.h"
#include "timestamp.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;

// Each costs a second or more.
constexpr std::size_t kMostShrunk = 5;

// Those of every check.
void declare_shared_options(cli::Parser& command, CheckArguments& arguments) {
  command.group(kMostUsed);
  command
      .value("-d,--device", arguments.request.devices,
             "device ids (of npu, else cuda, else cpu; default 0) or names: cpu, cuda:1, npu:0, "
             "sim, recorded, mindspore, inductor")
      .named("DEVICE");
  command.value("-o,--out_path", arguments.request.out, "directory for the two CSVs")
      .named("DIR")
      .shows_default();
  declare_report_options(command, arguments.shown.report);
  command.group(kMostUsed);
  command
      .value("--only", arguments.request.only,
             "check only these calls: a name (Torch.matmul.0), an API (matmul) or a pattern "
             "('Functional.*'); may be repeated")
      .named("CALL")
      .repeatable();
  command.group("Input");
  command
      .value("--config-yaml", arguments.request.config_yaml,
             "config.yaml with lists of APIs (default: $MSPROBE_CONFIG, else the installed one)")
      .named("YAML");
  declare_functions(command, arguments.request.engine);
  declare_engine_options(command, arguments.request.engine);
  command.flag("-j,--jit_compile", arguments.request.engine.jit_compile,
               "jit compile mode, passed to the back end of the device");
  declare_timeout(command, arguments.request.timeout_seconds);
  command.value(
      "--worker-memory", arguments.request.worker_memory_mb,
      "replace an engine that uses more than N MB of memory, skip a call that needs more");
  command.group("Verdicts");
  for (const ReplayFlag& flag : kReplayFlags) {
    command.flag(flag.option, arguments.request.engine.replay.*flag.value, flag.help);
  }
  command
      .value("--card", arguments.request.card_file,
             "card of the device (probe_device -o): products must be what its arithmetic gives, "
             "bit for bit (strict status)")
      .named("FILE");
  command
      .value("--unit", arguments.request.unit,
             "how the device adds products of 8-bit numbers, where it keeps fewer bits than "
             "float32: block=32,bits=13,promote=128 (strict status)")
      .named("SPEC");
  command.group("Output");
  command
      .value("-csv_path,--result_csv_path", arguments.request.resume_csv,
             "continue an interrupted run: its result CSV, or the directory of its results")
      .named("CSV");
  command.flag("-save_error_data,--save_error_data", arguments.request.save_error_data,
               "save inputs and outputs of calls that do not pass");
  declare_shown_options(command, arguments.shown);
}

}  // namespace

void declare_check_options(cli::Parser& command, CheckArguments& arguments) {
  command.group(kMostUsed);
  command.value("DUMP,-api_info,--api_info_file", arguments.request.api_info,
                "dump.json to check, or a directory: of a rank, a step or several steps");
  declare_shared_options(command, arguments);
  command.group("Input");
  command.flag("-f,--filter_api", arguments.request.filter_api,
               "check calls with equal parameters and structure only once");
  command
      .value("-config,--config_path", arguments.request.config_json,
             "config.json whose acc_check section replaces the lists of config.yaml")
      .named("FILE");
  command
      .value("--shard", arguments.request.shard,
             "check only part K of N parts of about equal cost; merge_checks joins them")
      .named("K/N");
  declare_verdict_options(command, arguments.request.verdict, /*has_strict=*/true);
  command.group("Verdicts");
  command.flag("--explain", arguments.request.engine.replay.explain,
               "show how the bound of the worst element of each result is made, term by term "
               "(strict status); needs --only");
  declare_output_options(command, arguments.request.output);
  command.group("Output");
  command.flag("--shrink", arguments.shrink,
               "shrink the worst failing call of each cause, at most 5, to a short script; the "
               "report shows it");
}

void declare_run_ut_options(cli::Parser& command, CheckArguments& arguments) {
  declare_older_files(command, arguments.request.older);
  declare_shared_options(command, arguments);
  declare_fail_on(command, arguments.request.verdict, /*has_strict=*/true);
  command.group("Output");
  command
      .value("--precision", arguments.request.output.precision,
             "decimals of the numbers in the CSVs")
      .between(0, 20);
}

namespace {

// Of the worst call of each cause, its smallest failing form as a script beside the CSVs. What
// cannot be shrunk is reported; the result of the check stays.
void shrink_worst(const check::CheckOptions& checked, const check::CheckOutcome& outcome,
                  const std::vector<std::string>& calls, bool quiet) {
  const fs::path scripts = report::scripts_directory(outcome.paths.details);
  for (const std::string& call : calls) {
    const shrink::ShrinkOptions options{.api_info = checked.dump.string(),
                                        .call = call,
                                        .out = (scripts / call).string(),
                                        .device = checked.request.devices.front(),
                                        .engine = checked.request.engine,
                                        .timeout_seconds = checked.dispatch.timeout_seconds,
                                        .print = [](const std::string&) {}};
    const Result<shrink::ShrinkOutcome> shrunk = shrink::shrink_call(options);
    if (!shrunk || shrunk->no_fault) {
      log::warning("{} is not shrunk: {}", call,
                   shrunk ? *shrunk->no_fault : shrunk.error().message);
    } else if (!quiet) {
      log::info("{} is shrunk to {}", call, (scripts / call / "reproduce.py").string());
    }
  }
}

Result<bool> check_one(const CheckArguments& arguments, const Interrupt& interrupt,
                       const std::string& title, CheckOutput& output) {
  if (const Result<void> good = check_fail_on(arguments.request.verdict); !good)
    return propagate(good);
  Result<check::CheckOptions> options =
      check::options_of(arguments.request, {.program = this_program(),
                                            .engine = from_environment("MSPROBE_ENGINE"),
                                            .config = from_environment("MSPROBE_CONFIG")});
  if (!options) return propagate(options);
  for (const std::string& warning : options->config.warnings) log::warning("{}", warning);
  options->timestamp = &local_timestamp;
  options->dispatch.interrupt = interrupt.descriptor();
  // Several dumps have calls of the same names.
  if (!title.empty()) options->config.error_data_path /= title;
  output.watch(*options, title);
  const Result<check::CheckOutcome> outcome = check::run_check(*options);
  if (!outcome) return propagate(outcome);
  const bool colour = ::isatty(STDOUT_FILENO) != 0;
  const Result<std::string> summary = arguments.request.is_older()
                                          ? tables::older_summary(outcome->paths.result, colour)
                                          : std::string();
  output.end(*outcome, summary.value_or(""));
  if (!summary) return propagate(summary);
  if (arguments.shrink && !outcome->interrupted) {
    shrink_worst(*options, *outcome, output.worst_calls(kMostShrunk), arguments.shown.quiet);
  }
  return outcome->interrupted;
}

// A rule that never fired looks like a fault that was missed. Nothing is known of rows that an
// earlier run computed, and of what devices of other machines did.
sim::FiredRules watch_rules(const check::CheckRequest& request) {
  const bool whole = request.resume_csv.empty() && request.hosts == nullptr;
  return sim::FiredRules::watch(whole ? request.engine.sim_config : "");
}

// Of some calls, some rules say nothing.
void say_silent(const sim::FiredRules& rules, const std::vector<std::string>& only) {
  const std::vector<std::string> silent = rules.silent();
  if (!only.empty() && silent.size() < rules.size()) return;
  for (const std::string& line : silent) log::warning("{}", line);
}

// Each dump has its own directory below that of the output. A damaged one does not keep the
// others from being checked.
ExitStatus check_all(const CheckArguments& arguments, const std::vector<InputDump>& dumps,
                     const Interrupt& interrupt, const sim::FiredRules& rules) {
  fs::path out = arguments.request.out;
  const std::string& resume_csv = arguments.request.resume_csv;
  if (!resume_csv.empty()) {
    const Result<fs::path> resumed = resumed_directory(resume_csv, dumps);
    if (!resumed) return refuse(resumed.error());
    out = *resumed;
  }
  CheckOutput output(arguments.shown, arguments.request.verdict, arguments.progress_label);
  output.expect_several(out);
  bool whole = true;
  for (const InputDump& dump : dumps) {
    CheckArguments one = arguments;
    one.request.api_info = dump.path;
    one.request.out = (out / dump.place).string();
    // Those that are complete are only read; those that were not reached begin.
    const Result<std::string> begun =
        resume_csv.empty() ? Result<std::string>("") : latest_result(one.request.out);
    if (begun) one.request.resume_csv = *begun;
    const Result<bool> interrupted = begun ? check_one(one, interrupt, dump.place.string(), output)
                                           : Result<bool>(propagate(begun));
    if (!interrupted) output.cannot(interrupted.error());
    whole = whole && interrupted && !*interrupted;
    if (interrupted ? *interrupted : interrupted.error().kind != ErrorKind::kFormat) break;
  }
  if (whole) say_silent(rules, arguments.request.only);
  return output.close();
}

}  // namespace

ExitStatus run_check_command(const CheckArguments& arguments) {
  if (arguments.request.engine.replay.explain && arguments.request.only.empty()) {
    return refuse({ErrorKind::kUsage,
                   "--explain shows the bound of single calls: name them with --only CALL"});
  }
  const Interrupt interrupt;
  const sim::FiredRules rules = watch_rules(arguments.request);
  CheckArguments one = arguments;
  one.request.engine.sim_log = rules.log();
  if (!arguments.request.api_info.empty()) {
    const Result<std::vector<InputDump>> dumps = input_dumps(arguments.request.api_info);
    if (!dumps) return refuse(dumps.error());
    if (dumps->size() > 1) return check_all(one, *dumps, interrupt, rules);
    one.request.api_info = dumps->front().path;
  }
  std::error_code error;
  if (const std::string& resumed = arguments.request.resume_csv; fs::is_directory(resumed, error)) {
    const Result<std::string> latest = latest_result(resumed);
    if (!latest) return refuse(latest.error());
    one.request.resume_csv = *latest;
    if (latest->empty()) {
      return refuse({ErrorKind::kUsage,
                     fmt::format("{}: no accuracy_checking_result_*.csv to continue", resumed)});
    }
  }
  CheckOutput output(one.shown, one.request.verdict, one.progress_label);
  const Result<bool> interrupted = check_one(one, interrupt, {}, output);
  if (!interrupted) return refuse(interrupted.error());
  if (!*interrupted) say_silent(rules, arguments.request.only);
  return output.close();
}

}  // namespace msprobe::app
