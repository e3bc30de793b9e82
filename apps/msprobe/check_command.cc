// SPDX-License-Identifier: Apache-2.0
#include "check_command.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

#include "check/config.h"
#include "check/run_check.h"
#include "check_results.h"
#include "cli/parser.h"
#include "core/file.h"
#include "core/log.h"
#include "core/path_check.h"
#include "dump_input.h"
#include "engines/device_name.h"
#include "interrupt.h"
#include "older_tables.h"
#include "own_files.h"
#include "timestamp.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kDefaultWorkerMemory = 4096 * kMegabyte;

std::optional<fs::path> given(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return fs::path(text);
}

Result<check::Config> load_config(const CheckArguments& arguments) {
  check::Config config;
  const auto yaml = check::find_config_yaml({.option = given(arguments.config_yaml),
                                             .environment = from_environment("MSPROBE_CONFIG"),
                                             .program = this_program()});
  if (yaml) {
    Result<check::Config> read = check::read_config_yaml(*yaml);
    if (!read) return read;
    config = std::move(*read);
  }
  if (!arguments.config_json.empty()) {
    Result<check::Config> read = check::with_config_json(std::move(config), arguments.config_json);
    if (!read) return read;
    config = std::move(*read);
    for (const std::string& warning : config.warnings) log::warning("{}", warning);
  }
  if (arguments.output.precision) config.precision = *arguments.output.precision;
  std::error_code error;
  config.error_data_path = fs::absolute(config.error_data_path, error).lexically_normal();
  return config;
}

// The command that checks one call by itself with what changes its rows; its name follows.
std::string rerun_command(const CheckArguments& arguments) {
  std::string text = arguments.is_older()
                         ? fmt::format("msprobe run_ut -forward {} -backward {}",
                                       arguments.older.forward, arguments.older.backward)
                         : fmt::format("msprobe acc_check -api_info {}", arguments.api_info);
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", option, value);
  };
  const bool default_device = arguments.devices.empty() || arguments.devices.front() == "0";
  if (!default_device) add("-d", arguments.devices.front());
  add("--data_path", arguments.older.data);
  text += engines::device_text(arguments.engine);
  if (arguments.allow_tf32) text += " --allow-tf32";
  if (arguments.hf32) text += " --hf32";
  add("-config", arguments.config_json);
  add("--config-yaml", arguments.config_yaml);
  add("--standards", arguments.verdict.standards_file);
  return text + engines::run_text(arguments.engine) + " --only";
}

// An engine may take its share of the machine, at most the default.
std::uint64_t worker_memory(const CheckArguments& arguments) {
  if (arguments.worker_memory_mb > 0) return arguments.worker_memory_mb * kMegabyte;
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const std::uint64_t machine = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::clamp(machine / 2 / arguments.workers, 1024 * kMegabyte, kDefaultWorkerMemory);
}

Result<std::string> text_of(const std::string& path) {
  if (path.empty()) return std::string();
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  return std::string(file->text());
}

// A dump for the CSV, and the other CSV of the pair.
Result<void> check_resumed_csv(const std::string& csv) {
  if (csv.ends_with(".json")) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("{} should be a file of type .csv! -csv_path takes the result CSV of the "
                    "run to continue, -api_info the dump.json.",
                    csv));
  }
  constexpr std::string_view kDetails = "accuracy_checking_details";
  std::string name = fs::path(csv).filename().string();
  if (!name.starts_with(kDetails)) return {};
  name.replace(0, kDetails.size(), "accuracy_checking_result");
  return fail(ErrorKind::kUsage,
              fmt::format("{} is the details CSV: -csv_path takes the result CSV beside it, {}",
                          csv, name));
}

Result<fs::path> find_dump(const std::string& given) {
  Result<fs::path> dump = check_input_file(given, {.suffix = ".json"});
  if (!dump && given.ends_with(".csv")) {
    dump.error().message +=
        " -api_info takes the dump.json, -csv_path the result CSV of the run to continue.";
  }
  return dump;
}

Result<void> find_input(const CheckArguments& arguments, check::CheckOptions& options) {
  if (!arguments.is_older()) {
    if (arguments.api_info.empty()) {
      return fail(ErrorKind::kUsage, "Please provide api_info_file for offline acc_check.");
    }
    const Result<fs::path> dump = find_dump(arguments.api_info);
    if (!dump) return propagate(dump);
    options.dump = *dump;
    return check_resumed_csv(arguments.resume_csv);
  }
  const Result<CheckedOlderFiles> files = check_older_files(arguments.older);
  if (!files) return propagate(files);
  options.dump = files->forward;
  options.older = {files->backward.value_or(fs::path()), files->data};
  return {};
}

// The names of run_ut's files hold no time: a new run must not meet those of an older one.
Result<void> check_older_output(const check::CheckOptions& options) {
  if (!options.older || options.resume) return {};
  for (const char* name : {"accuracy_checking_result.csv", "accuracy_checking_details.csv",
                           "accuracy_checking_run.txt"}) {
    if (Result<void> fresh = must_not_exist(options.out_directory / name); !fresh) return fresh;
  }
  if (!options.save_error_data) return {};
  return must_not_exist(options.config.error_data_path / "ut_error_data");
}

Result<check::CheckOptions> make_options(const CheckArguments& arguments) {
  check::CheckOptions options;
  if (const Result<void> good = check_fail_on(arguments.verdict); !good) return propagate(good);
  if (const Result<void> found = find_input(arguments, options); !found) return propagate(found);
  Result<check::Config> config = load_config(arguments);
  if (!config) return propagate(config);
  options.config = std::move(*config);
  Result<judge::Standards> standards = load_standards(arguments.verdict);
  if (!standards) return propagate(standards);
  options.standards = std::move(*standards);
  options.standards.quantization_apis = options.config.quantization_api_list;
  Result<std::string> standards_text = text_of(arguments.verdict.standards_file);
  if (!standards_text) return propagate(standards_text);
  options.standards_text = std::move(*standards_text);
  options.devices = arguments.devices.empty() ? std::vector<std::string>{"0"} : arguments.devices;
  if (const Result<void> good = engines::check_device_names(options.devices); !good) {
    return propagate(good);
  }
  const Result<fs::path> found = find_own_engine(arguments.engine.program);
  if (!found) return propagate(found);
  options.engine = arguments.engine;
  options.engine.program = found->string();
  if (arguments.resume_csv.empty()) {
    const Result<fs::path> out = prepare_output_directory(arguments.out);
    if (!out) return propagate(out);
    options.out_directory = *out;
  } else {
    options.resume = arguments.resume_csv;
  }
  options.only = arguments.only;
  options.drop_repeats = arguments.filter_api;
  const Result<journal::Shard> shard = journal::parse_shard(arguments.shard);
  if (!shard) return propagate(shard);
  options.shard = *shard;
  options.save_error_data = arguments.save_error_data;
  if (const Result<void> fresh = check_older_output(options); !fresh) return propagate(fresh);
  options.profile = arguments.verdict.profile;
  options.titles = arguments.output.titles;
  options.rerun_command = rerun_command(arguments);
  options.working_directory = fs::current_path();
  options.workers = arguments.workers;
  options.pair_per_device = arguments.pair_per_device;
  options.hosts = arguments.hosts;
  // A bare id is one of the simulated device then.
  const bool on_sim = std::ranges::any_of(options.devices, [](const std::string& name) {
    return engines::device_kind(name) == "sim" || engines::is_bare_id(name);
  });
  if (!on_sim && arguments.engine.is_for_sim()) {
    return fail(ErrorKind::kUsage,
                "--sim-profile and --sim-config are for the simulated device: add -d sim");
  }
  options.allow_tf32 = arguments.allow_tf32;
  options.hf32 = arguments.hf32;
  Result<std::string> sim_text = text_of(arguments.engine.sim_config);
  if (!sim_text) return propagate(sim_text);
  options.sim_config_text = std::move(*sim_text);
  // The engine may run in another directory.
  if (!arguments.engine.sim_config.empty()) {
    options.engine.sim_config = fs::absolute(arguments.engine.sim_config).string();
  }
  options.dispatch.timeout_seconds = arguments.timeout_seconds;
  options.dispatch.worker_memory_bytes = worker_memory(arguments);
  options.timestamp = &local_timestamp;
  return options;
}

// Those of every check.
void declare_shared_options(cli::Parser& command, CheckArguments& arguments) {
  command.group("Input");
  command
      .value("--only", arguments.only,
             "check this call alone and show its result; may be "
             "repeated")
      .named("CALL")
      .repeatable();
  command
      .value("--config-yaml", arguments.config_yaml,
             "config.yaml with lists of APIs (default: $MSPROBE_CONFIG, else the installed one)")
      .named("YAML");
  command.group("Device");
  command
      .value("-d,--device", arguments.devices,
             "device ids (of npu, else cuda, else cpu; default 0) or names: cpu, cuda:1, npu:0, "
             "sim, recorded, mindspore")
      .named("DEVICE");
  declare_engine_options(command, arguments.engine);
  command.flag("-j,--jit_compile", arguments.engine.jit_compile,
               "jit compile mode, passed to the back end of the device");
  declare_timeout(command, arguments.timeout_seconds);
  command.value("--worker-memory", arguments.worker_memory_mb,
                "replace an engine that uses more than N MB of memory");
  command.group("Verdicts");
  command.flag("--allow-tf32", arguments.allow_tf32,
               "allow matrix products to round float32 inputs to TF32 or HF32 (strict status)");
  command.flag("--hf32", arguments.hf32,
               "round float32 inputs of conv1d and conv2d to HF32 in the benchmark, as for an npu");
  command.group("Output");
  command.value("-o,--out_path", arguments.out, "directory for the two CSVs")
      .named("DIR")
      .shows_default();
  command
      .value("-csv_path,--result_csv_path", arguments.resume_csv,
             "continue an interrupted run: its result CSV, or the directory of its results")
      .named("CSV");
  command.flag("-save_error_data,--save_error_data", arguments.save_error_data,
               "save inputs and outputs of calls that do not pass");
  declare_shown_options(command, arguments.shown);
}

}  // namespace

void declare_check_options(cli::Parser& command, CheckArguments& arguments) {
  command.group("Input");
  command.value("DUMP,-api_info,--api_info_file", arguments.api_info,
                "dump.json to check, or a directory: of a rank, a step or several steps");
  command.flag("-f,--filter_api", arguments.filter_api,
               "check calls with equal parameters and structure only once");
  command
      .value("-config,--config_path", arguments.config_json,
             "config.json whose acc_check section replaces the lists of config.yaml")
      .named("FILE");
  command
      .value("--shard", arguments.shard,
             "check only part K of N parts of about equal cost; merge_checks joins them")
      .named("K/N");
  declare_shared_options(command, arguments);
  declare_verdict_options(command, arguments.verdict, /*has_strict=*/true);
  declare_output_options(command, arguments.output);
}

void declare_run_ut_options(cli::Parser& command, CheckArguments& arguments) {
  declare_older_files(command, arguments.older);
  declare_shared_options(command, arguments);
  declare_fail_on(command, arguments.verdict, /*has_strict=*/true);
  command.group("Output");
  command.value("--precision", arguments.output.precision, "decimals of the numbers in the CSVs")
      .between(0, 20);
}

namespace {

Result<bool> check_one(const CheckArguments& arguments, const Interrupt& interrupt,
                       const std::string& title, CheckOutput& output) {
  Result<check::CheckOptions> options = make_options(arguments);
  if (!options) return propagate(options);
  options->dispatch.interrupt = interrupt.descriptor();
  // Several dumps have calls of the same names.
  if (!title.empty()) options->config.error_data_path /= title;
  output.watch(*options, title);
  const Result<check::CheckOutcome> outcome = check::run_check(*options);
  if (!outcome) return propagate(outcome);
  output.end(*outcome, arguments.is_older() ? older_tables(outcome->paths.result) : "");
  return outcome->interrupted;
}

// Each dump has a directory of its own below that of the output. A damaged one does not keep the
// others from being checked.
ExitStatus check_all(const CheckArguments& arguments, const std::vector<InputDump>& dumps,
                     const Interrupt& interrupt) {
  fs::path out = arguments.out;
  if (!arguments.resume_csv.empty()) {
    const Result<fs::path> resumed = resumed_directory(arguments.resume_csv, dumps);
    if (!resumed) return refuse(resumed.error());
    out = *resumed;
  }
  CheckOutput output(arguments.shown, arguments.verdict, arguments.progress_label);
  output.expect_several(out);
  for (const InputDump& dump : dumps) {
    CheckArguments one = arguments;
    one.api_info = dump.path;
    one.out = (out / dump.place).string();
    // Those that are complete are only read; those that were not reached begin.
    if (!arguments.resume_csv.empty()) one.resume_csv = latest_result(one.out);
    const Result<bool> interrupted = check_one(one, interrupt, dump.place.string(), output);
    if (!interrupted) output.cannot(interrupted.error());
    if (interrupted ? *interrupted : interrupted.error().kind != ErrorKind::kFormat) break;
  }
  return output.close();
}

}  // namespace

ExitStatus run_check_command(const CheckArguments& arguments) {
  const Interrupt interrupt;
  CheckArguments one = arguments;
  if (!arguments.api_info.empty()) {
    const Result<std::vector<InputDump>> dumps = input_dumps(arguments.api_info);
    if (!dumps) return refuse(dumps.error());
    if (dumps->size() > 1) return check_all(arguments, *dumps, interrupt);
    one.api_info = dumps->front().path;
  }
  std::error_code error;
  if (fs::is_directory(arguments.resume_csv, error)) {
    one.resume_csv = latest_result(arguments.resume_csv);
    if (one.resume_csv.empty()) {
      return refuse({ErrorKind::kUsage, fmt::format("{}: no accuracy_checking_result_*.csv to "
                                                    "continue",
                                                    arguments.resume_csv)});
    }
  }
  CheckOutput output(one.shown, one.verdict, one.progress_label);
  if (const Result<bool> ended = check_one(one, interrupt, {}, output); !ended) {
    return refuse(ended.error());
  }
  return output.close();
}

}  // namespace msprobe::app
