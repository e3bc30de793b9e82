// SPDX-License-Identifier: Apache-2.0
// msprobe run_overflow_check: is the overflow of a recorded call one of its data, or one of the
// device?
#include <memory>

#include <fmt/format.h>

#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/log.h"
#include "core/path_check.h"
#include "core/shell_words.h"
#include "dump_input.h"
#include "engines/device_name.h"
#include "interrupt.h"
#include "nonfinite_output.h"
#include "overflow/overflow_run.h"
#include "overflow/overflow_summary.h"
#include "own_files.h"
#include "progress_bar.h"
#include "summary.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCsvName = "overflow_check_result.csv";
constexpr std::size_t kShownOverflows = 10;  // one by one

struct OverflowArguments {
  check::OlderFiles older;
  std::string api_info;
  std::string out;
  std::string device;
  engines::EngineOptions engine;
  std::vector<std::string> only;
  bool provenance = false;
  bool verbose = false;
  std::size_t jobs = 1;
  double timeout_seconds = 300;
  documented::VerdictOptions verdict;
  std::string json;
};

Result<void> choose_input(const OverflowArguments& arguments, overflow::OverflowOptions& options) {
  const bool older = !arguments.older.forward.empty();
  if (older == !arguments.api_info.empty()) {
    return fail(ErrorKind::kUsage,
                "name the recording with either -forward forward_info_0.json or -api_info "
                "dump.json");
  }
  if (!older && !(arguments.older.backward.empty() && arguments.older.data.empty())) {
    return fail(ErrorKind::kUsage, "-backward and --data_path go with -forward");
  }
  if (older) {
    const Result<check::CheckedOlderFiles> files = check::check_older_files(arguments.older);
    if (!files) return propagate(files);
    options.input = files->forward;
    options.backward = files->backward;
    options.data_directory = files->data;
    return {};
  }
  const Result<std::string> named = one_dump(arguments.api_info);
  if (!named) return propagate(named);
  const Result<fs::path> dump = check_input_file(*named, {.suffix = ".json"});
  if (!dump) return propagate(dump);
  options.input = *dump;
  return {};
}

Result<overflow::OverflowOptions> make_options(const OverflowArguments& arguments) {
  overflow::OverflowOptions options;
  if (const Result<void> chosen = choose_input(arguments, options); !chosen) {
    return propagate(chosen);
  }
  if (!arguments.device.empty()) {
    const Result<void> good = engines::check_device_names({arguments.device});
    if (!good) return propagate(good);
  }
  const bool sim = engines::device_kind(arguments.device) == "sim";
  if (!sim && arguments.engine.is_for_sim()) {
    return fail(ErrorKind::kUsage, "--sim-profile and --sim-config are for -d sim");
  }
  const Result<fs::path> engine = find_own_engine(arguments.engine.program);
  if (!engine) return propagate(engine);
  options.engine = arguments.engine;
  options.engine.program = engine->string();
  options.engine.jit_compile = false;  // nothing that is asked here depends on it
  options.device = arguments.device;
  options.only = arguments.only;
  options.workers = arguments.jobs;
  options.dispatch.timeout_seconds = arguments.timeout_seconds;
  if (!arguments.out.empty()) {
    const Result<fs::path> out = prepare_output_directory(arguments.out);
    if (!out) return propagate(out);
    options.csv = *out / kCsvName;
    if (const Result<void> fresh = check::must_not_exist(*options.csv); !fresh)
      return propagate(fresh);
  }
  return options;
}

ExitStatus exit_status(const overflow::OverflowOutcome& outcome,
                       const documented::VerdictOptions& verdict) {
  switch (overflow::status_of(outcome, verdict.fail_on_warning())) {
    case overflow::OverflowStatus::kPassed:
      return kPassed;
    case overflow::OverflowStatus::kFailed:
      return kFailed;
    case overflow::OverflowStatus::kNothingChecked:
      break;
  }
  return kCannot;
}

// Needs no device and no engine: the recorded values tell.
ExitStatus find_provenance(const OverflowArguments& arguments) {
  if (arguments.api_info.empty()) {
    return refuse({ErrorKind::kUsage,
                   "--provenance needs -api_info: a dump.json, or the directory of a rank, a step "
                   "or several steps"});
  }
  std::error_code error;
  const Result<fs::path> path = fs::is_directory(arguments.api_info, error)
                                    ? check_input_directory(arguments.api_info)
                                    : check_input_file(arguments.api_info, {.suffix = ".json"});
  if (!path) return refuse(path.error());
  return show_nonfinite(path->string(), arguments.json);
}

std::string further_overflows(std::size_t count, const OverflowArguments& arguments) {
  std::string text = fmt::format("and {} more, which -v shows", count);
  if (!arguments.api_info.empty()) {
    text +=
        fmt::format("; where they begin: msprobe compare {} --nan", shell_path(arguments.api_info));
  }
  return text;
}

ExitStatus run_overflow_check(const OverflowArguments& arguments) {
  if (arguments.provenance) return find_provenance(arguments);
  const Interrupt interrupt;
  Result<overflow::OverflowOptions> options = make_options(arguments);
  if (!options) return refuse(options.error());
  ProgressBar bar("Processing");
  options->dispatch.interrupt = interrupt.descriptor();
  options->say = [&](log::Severity level, const std::string& text) {
    bar.clear();
    log::write(level, text);
  };
  // With -v a line for each call as it is checked; else the first overflows, after the answer.
  std::vector<std::string> overflows;
  std::size_t more = 0;
  options->on_row = [&](const overflow::OverflowRow& row) {
    if (!arguments.verbose) {
      if (!row.expected) return;
      if (overflows.size() < kShownOverflows) {
        overflows.push_back(row.message);
      } else {
        ++more;
      }
      return;
    }
    bar.clear();
    log::write(row.expected ? log::Severity::kWarning : log::Severity::kInfo, row.message);
  };
  options->show_progress = [&](std::size_t done, std::size_t total) { bar.show(done, total); };
  const Result<overflow::OverflowOutcome> outcome = overflow::run(*options);
  bar.clear();
  if (!outcome) return refuse(outcome.error());
  if (arguments.engine.jit_compile) log::info("jit_compile has no effect on {}", outcome->device);
  const ExitStatus status = exit_status(*outcome, arguments.verdict);
  if (outcome->interrupted) {
    log::warning("interrupted; nothing was written");
  } else if (status == kCannot) {
    log::error("nothing was checked: the recording has no call that can be checked");
  } else if (options->csv) {
    log::info("the result csv is saved in {}", options->csv->string());
  }
  const std::string json =
      overflow::summary_json(*outcome, options->csv.value_or(fs::path()), status);
  const Result<void> shown = show_summary(arguments.json, json, overflow::summary_text(*outcome));
  if (!shown) return refuse(shown.error());
  std::fflush(stdout);  // the answer is read first
  for (const std::string& line : overflows) log::warning("{}", line);
  if (more > 0) log::warning("{}", further_overflows(more, arguments));
  return status;
}

}  // namespace

Run declare_run_overflow_check(cli::Parser& command) {
  auto arguments = std::make_shared<OverflowArguments>();
  declare_older_files(command, arguments->older);
  command.value("DUMP,-api_info,--api_info_file", arguments->api_info, "dump.json");
  command
      .value("-d,--device", arguments->device,
             "0 (npu, else cuda, else cpu), cpu, cuda:1, npu:0, sim, or recorded for the values "
             "in the recording (default: npu, else cuda, else recorded)")
      .named("DEVICE");
  command
      .value("-o,--out_path", arguments->out,
             "directory for overflow_check_result.csv (default: none is written)")
      .named("DIR");
  command
      .value("--only", arguments->only,
             "check only these calls: a name (Torch.matmul.0), an API (matmul) or a pattern "
             "('Functional.*'); may be repeated")
      .named("CALL")
      .repeatable();
  command.flag("-v,--verbose", arguments->verbose, "a line for each call");
  // The same search as `msprobe compare --nan`, which is the one to tell people about.
  command.flag("--provenance", arguments->provenance, "").hidden();
  command.group("Device");
  command.flag("-j,--jit_compile", arguments->engine.jit_compile, "jit compile mode of an NPU");
  declare_engine_options(command, arguments->engine);
  declare_timeout(command, arguments->timeout_seconds);
  declare_jobs(command, arguments->jobs);
  declare_fail_on(command, arguments->verdict, /*has_strict=*/false);
  declare_json(command, arguments->json);
  return [arguments] { return run_overflow_check(*arguments); };
}

}  // namespace msprobe::app
