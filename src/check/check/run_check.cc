// SPDX-License-Identifier: Apache-2.0
#include "check/run_check.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "check/check_work.h"
#include "check/dialect.h"
#include "check/fingerprint.h"
#include "check/plan.h"
#include "core/call_name.h"
#include "core/file_start.h"
#include "core/shell_words.h"
#include "documented/skip_message.h"
#include "dump/dump_json.h"
#include "dump/legacy_json.h"
#include "engines/device_name.h"
#include "journal/journal.h"

namespace msprobe::check {
namespace {

using log::Severity;

constexpr int kGreetingTries = 2;
constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

std::size_t host_count(const CheckOptions& options) {
  return options.request.hosts == nullptr ? 1 : options.request.hosts->count();
}

Result<engines::EngineProcess> start_engine(const CheckOptions& options, std::size_t host,
                                            const std::string& device) {
  const engines::EngineCommand command = engines::command_of(options.request.engine, device);
  return host == 0 ? engines::EngineProcess::start(command)
                   : options.request.hosts->start(host, command);
}

// Devices of all hosts, those of host 0 first. Worker i serves device i modulo their number.
std::vector<engines::Worker> make_workers(const CheckOptions& options,
                                          const std::vector<std::string>& devices,
                                          std::size_t calls) {
  std::vector<engines::Worker> workers;
  const std::size_t hosts = host_count(options);
  const std::size_t count = std::clamp<std::size_t>(calls, 1, options.request.workers * hosts);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t device = i % (devices.size() * hosts);
    workers.push_back({[&options, &devices, device] {
                         const std::size_t per_host = devices.size();
                         return start_engine(options, device / per_host,
                                             devices[device % per_host]);
                       },
                       device});
  }
  return workers;
}

// What the pair of each device is called: "0", "1", "0_rank1", "1_rank1".
std::vector<std::string> device_labels(const CheckOptions& options) {
  std::vector<std::string> labels;
  if (!options.request.pair_per_device) return labels;
  for (std::size_t host = 0; host < host_count(options); ++host) {
    for (const std::string& device : options.request.devices) {
      labels.push_back(host == 0 ? device : fmt::format("{}_rank{}", device, host));
    }
  }
  return labels;
}

struct Recorded {
  std::vector<std::string> engine_devices;  // what engines open for CheckOptions::devices
  dump::DumpIndex dump;
  const Dialect* dialect;
  Plan plan;
};

// Files that a recorder writes beside a dump; those of the older one have a number at the end.
constexpr auto kBesideDump = std::to_array<std::string_view>(
    {"stack.json", "construct.json", "call_sites.json", "stack_info", "backward_info"});

// Another file of the recording, or one of the older recorder, which has its own command.
Failure wrong_dump(const std::filesystem::path& path, const Error& error) {
  const std::string name = path.filename().string();
  if (std::ranges::any_of(kBesideDump, [&](std::string_view s) { return name.starts_with(s); })) {
    const bool older = name.find("_info") != std::string::npos;
    return fail(
        ErrorKind::kFormat,
        fmt::format("{} is part of a dump, not the dump itself; check the {} beside it",
                    path.string(), older ? "forward_info, with msprobe run_ut" : "dump.json"));
  }
  const Result<dump::DumpIndex> older = dump::open_legacy(path, std::nullopt);
  if (!older || older->calls.empty()) return Failure(error);
  return fail(ErrorKind::kFormat,
              fmt::format("{} was written by the older recorder; check it with msprobe run_ut "
                          "-forward {} -backward BACKWARD_INFO",
                          path.string(), shell_path(path)));
}

Result<Recorded> read_dump(const CheckOptions& options) {
  Result<dump::DumpIndex> dump = options.older
                                     ? dump::open_legacy(options.dump, options.older->backward)
                                     : dump::open_dump(options.dump);
  if (!dump) return options.older ? propagate(dump) : wrong_dump(options.dump, dump.error());
  const Result<const Dialect*> dialect =
      options.older ? &older_dialect() : dialect_of(*dump, options.dump);
  if (!dialect) return propagate(dialect);
  const Result<std::vector<std::string>> warnings = (*dialect)->look_at(*dump, options.dump);
  if (!warnings) return propagate(warnings);
  for (const std::string& warning : *warnings) options.say(Severity::kWarning, warning);
  if (options.request.filter_api) {
    options.say(Severity::kInfo, "Start filtering the api in the api_info_file.");
  }
  Result<Plan> plan = plan_calls(*dump, {.white_list = options.config.white_list,
                                         .black_list = options.config.black_list,
                                         .only = options.request.only,
                                         .drop_repeats = options.request.filter_api,
                                         .shard = options.shard,
                                         .dialect = *dialect});
  if (!plan) return propagate(plan);
  if (options.request.filter_api) {
    options.say(Severity::kInfo,
                fmt::format("Finish filtering the api in the api_info_file: {} of {} calls repeat "
                            "another.",
                            plan->repeats, plan->recorded));
  }
  for (const auto& [group, calls] : plan->left_out) {
    options.say(Severity::kInfo, fmt::format("{} {} calls are not checked", calls, group));
  }
  std::vector<std::string> devices;
  for (const std::string& named : options.request.devices) {
    devices.push_back((*dialect)->engine_device(named, *dump));
  }
  return Recorded{std::move(devices), std::move(*dump), *dialect, std::move(*plan)};
}

// Whether a bare id may mean another device than in most dumps, as in those of MindSpore: these say
// so at their beginning. Only a guess: the dump that is read decides.
bool may_mean_another_device(const CheckOptions& options) {
  if (options.older || !engines::is_bare_id(options.request.devices.front())) return false;
  constexpr std::size_t kBeginning = 4096;
  const Result<std::string> text = load_start(options.dump, kBeginning);
  if (!text) return false;
  constexpr std::string_view kFrameworks[] = {"\"mindspore", "\"mindtorch\"", "\"ms\""};
  return std::ranges::any_of(
      kFrameworks, [&](std::string_view name) { return text->find(name) != std::string::npos; });
}

// Retry once: the first engine may have been killed while loading.
Result<std::optional<engines::ReadyEngine>> first_engine(const CheckOptions& options,
                                                         const std::string& device,
                                                         engines::EngineProcess started) {
  Result<std::optional<engines::ReadyEngine>> ready =
      greet(std::move(started), options.dispatch.interrupt);
  for (int tries = 1; !ready && ready.error().kind == ErrorKind::kExecution;) {
    if (++tries > kGreetingTries) break;
    Result<engines::EngineProcess> again = start_engine(options, 0, device);
    if (!again) return propagate(again);
    ready = greet(std::move(*again), options.dispatch.interrupt);
  }
  return ready;
}

// An NPU's convolutions read float32 as HF32; the public tool expects it of every device.
bool benches_in_hf32(const CheckRequest& request, std::string_view device) {
  return request.engine.replay.hf32 || request.profile() == documented::Profile::kReference ||
         engines::device_kind(device) == "npu";
}

// With kernels of the user's, only calls of the APIs that they are for are checked.
Result<void> keep_kernels(const CheckOptions& options, const std::vector<std::string>& kernels,
                          Recorded& recorded) {
  if (options.request.engine.kernel.empty()) return {};
  const auto is_for = [&](const PlannedCall& call) {
    const std::string_view api = api_of(recorded.dump.calls[call.index].full_name);
    const std::string_view bare = api.substr(std::min(api.size(), api.find('.') + 1));
    return std::ranges::any_of(
        kernels, [&](const std::string& name) { return name == api || name == bare; });
  };
  std::vector<PlannedCall>& calls = recorded.plan.calls;
  const std::size_t left_out =
      std::erase_if(calls, [&](const PlannedCall& call) { return !is_for(call); });
  recorded.plan.not_selected += left_out;
  if (!calls.empty() || left_out == 0) return {};
  return fail(
      ErrorKind::kUsage,
      fmt::format("{} has kernels for {}, and no call of the dump is of these",
                  options.request.engine.kernel,
                  kernels.empty() ? "no API" : fmt::format("{}", fmt::join(kernels, ", "))));
}

ReplaySettings replay_settings(const CheckOptions& options, const Recorded& recorded,
                               std::string_view device) {
  ReplaySettings replay = options.request.engine.replay;
  replay.hf32 = benches_in_hf32(options.request, device);
  replay.dump_name = options.dump.filename().string();
  // The stored value only says that there are data; they are always beside the JSON.
  if (!recorded.dump.dump_data_dir.empty()) {
    replay.data_directory = options.older
                                ? options.older->data.string()
                                : (options.dump.parent_path() / dump::kDataDirectory).string();
  }
  replay.dialect = recorded.dialect->engine_name;
  replay.find_moved_files = options.older.has_value();
  if (options.older) replay.saved_device = "npu";
  replay.save_npy = recorded.dialect->saves_npy;
  replay.memory_bytes = options.request.worker_memory_mb * kMegabyte;
  replay.strict = options.request.profile() == documented::Profile::kDocumented;
  return replay;
}

protocol::RunOptions run_options(const CheckOptions& options, const Recorded& recorded,
                                 std::string_view device) {
  return {.replay = replay_settings(options, recorded, device),
          .arithmetic = options.request.profile() == documented::Profile::kDocumented
                            ? measure::Arithmetic::kDocumented
                            : measure::Arithmetic::kReference,
          .products = options.card.products};
}

Result<journal::Journal> open_journal(const CheckOptions& options, const Recorded& recorded,
                                      const protocol::Hello& engine, Coverage& coverage) {
  const journal::JournalOptions journal{
      {headers_of(*recorded.dialect, options.request.profile(), options.request.output.titles),
       recorded.dialect->names, recorded.dialect->style},
      facts_of(options, recorded.dump, *recorded.dialect, recorded.plan, engine),
      device_labels(options)};
  if (options.request.resume_csv.empty()) {
    return journal::Journal::create(options.out_directory, options.timestamp, journal);
  }
  const journal::ExpectedRows expected{
      recorded.plan.calls.size(),
      [&](std::size_t i) {
        return std::string(recorded.dump.calls[recorded.plan.calls[i].index].shown_name());
      },
      [&](std::string_view name) {
        return recorded.dialect->has_no_details(ops::NamedCall(name), options.request.profile());
      },
      false};
  return journal::Journal::resume(options.request.resume_csv, expected, journal,
                                  [&](documented::ResultRow row) {
                                    row.skip = documented::skip_reason_of(row.message);
                                    coverage.add(row);
                                  });
}

// 2.13.0 of 2.13.0+cpu.
std::string_view release_of(std::string_view version) {
  return version.substr(0, version.find('+'));
}

// What became of -d N and -j, and whether the dump is of another PyTorch.
void say_settings(const CheckOptions& options, const dump::DumpIndex& dump,
                  const protocol::Hello& engine) {
  const std::string& asked = options.request.devices.front();
  if (engines::is_bare_id(asked) && asked != engine.device) {
    options.say(Severity::kInfo, fmt::format("device {} is {}", asked, engine.device));
  }
  if (engines::is_bare_id(asked) && engines::device_kind(engine.device) == "cpu" &&
      options.request.engine.kernel.empty() && options.compares_cpu_with_itself) {
    options.compares_cpu_with_itself();
  }
  if (options.request.engine.jit_compile && !engine.jit_compile_has_effect) {
    options.say(Severity::kWarning, fmt::format("jit_compile has no effect on {}", engine.device));
  }
  const std::string recorded(release_of(dump.framework_version));
  if (dump.framework == "pytorch" && !recorded.empty() &&
      recorded != release_of(engine.torch_version)) {
    options.say(Severity::kWarning,
                fmt::format("the dump was recorded with PyTorch {}, this check runs with {}; "
                            "kernels and their arguments may differ for that reason alone",
                            recorded, release_of(engine.torch_version)));
  }
  if (dump.jit_compile && *dump.jit_compile != options.request.engine.jit_compile) {
    options.say(
        Severity::kWarning,
        fmt::format("the dump was recorded with jit_compile {}, this check runs with it {}; "
                    "results may differ for that reason alone: {} -j",
                    *dump.jit_compile ? "on" : "off",
                    options.request.engine.jit_compile ? "on" : "off",
                    options.request.engine.jit_compile ? "leave out" : "add"));
  }
}

// A card of another device explains nothing here; one of an older PyTorch may be outdated.
void say_card(const CheckOptions& options, const protocol::Hello& engine) {
  const DeviceCard& card = options.card;
  if (card.text.empty()) return;
  const std::string_view kind = engines::device_kind(engine.device);
  if (kind != engines::device_kind(card.device) && kind != "recorded") {
    options.say(Severity::kWarning, fmt::format("the card is that of {}, and this check runs on {}",
                                                card.device, engine.device));
  } else if (card.torch != engine.torch_version) {
    options.say(Severity::kWarning,
                fmt::format("the card was made with PyTorch {}, and this check runs with {}; if "
                            "products fail, make a new card: msprobe probe_device",
                            card.torch, engine.torch_version));
  }
}

void say_where(const CheckOptions& options, const journal::Journal& journal,
               const Recorded& recorded) {
  const std::size_t total = recorded.plan.calls.size();
  const auto say = [&](const std::string& text) { options.say(Severity::kInfo, text); };
  for (const std::string& note : journal.notes()) options.say(Severity::kWarning, note);
  if (!options.request.resume_csv.empty()) {
    say(fmt::format("continuing after {} of {} calls", journal.done(), total));
  }
  say(fmt::format("acc_check task result will be saved in {}", journal.paths().result.string()));
  say(fmt::format("acc_check task details will be saved in {}", journal.paths().details.string()));
  // When a machine is lost, mpirun kills the others within a moment: nothing can be said then.
  if (host_count(options) > 1) {
    options.say(Severity::kWarning,
                fmt::format("{} machines; if one is lost, add to the same command: -csv_path {}",
                            host_count(options), shell_path(journal.paths().result)));
  }
  if (!options.request.save_error_data) return;
  const auto place = recorded.dialect->error_data(options.config, journal.paths(), recorded.dump);
  say(place.empty() ? "the dump already has the data of every call: -save_error_data saves nothing"
                    : fmt::format("acc_check task error_data will be saved in {}", place.string()));
}

// Of a continued run, the one that it began with: its rows must not differ. Code that only the file
// names is not part of it.
CallCommand rerun_of(const CheckOptions& options, const journal::Journal& journal) {
  const Result<CallCommand> recorded = journal::rerun_of(journal.facts());
  if (!recorded || recorded->empty()) return options.rerun;
  return recorded->without_code(options.rerun);
}

Failure resumable(const Error& error, const journal::CsvPaths& paths) {
  if (error.kind == ErrorKind::kUsage) return Failure(error);
  return fail(error.kind, fmt::format("{}; the rows so far are kept: fix this, then add -csv_path "
                                      "{} to the same command",
                                      error.message, shell_path(paths.result)));
}

}  // namespace

Result<CheckOutcome> run_check(const CheckOptions& options) {
  options.say(Severity::kInfo, "start acc_check test");
  // The engine loads while the dump is read, on the device that most dumps mean.
  std::optional<engines::EngineProcess> started;
  const auto start_on = [&](const std::string& device) -> Result<void> {
    Result<engines::EngineProcess> process = start_engine(options, 0, device);
    if (!process) return propagate(process);
    started = std::move(*process);
    return {};
  };
  const bool early = !may_mean_another_device(options);
  if (early) {
    if (Result<void> done = start_on(options.request.devices.front()); !done)
      return propagate(done);
  }
  Result<Recorded> recorded = read_dump(options);
  if (!recorded) return propagate(recorded);
  const std::string& device = recorded->engine_devices.front();
  if (!early || device != options.request.devices.front()) {
    if (Result<void> done = start_on(device); !done) return propagate(done);
  }
  const Plan& plan = recorded->plan;
  CheckOutcome outcome;
  const auto count = [&] {
    outcome.total = plan.calls.size();
    outcome.coverage.recorded = plan.recorded;
    outcome.coverage.repeats = plan.repeats;
    outcome.coverage.not_selected = plan.not_selected;
    outcome.coverage.other_shards = plan.other_shards;
  };
  count();
  Result<std::optional<engines::ReadyEngine>> engine =
      first_engine(options, device, *std::move(started));
  if (!engine) return propagate(engine);
  outcome.interrupted = !*engine;
  if (outcome.interrupted) return outcome;
  if (auto kept = keep_kernels(options, (*engine)->hello.kernels, *recorded); !kept) {
    return propagate(kept);
  }
  count();
  outcome.device = (*engine)->hello.device;
  say_settings(options, recorded->dump, (*engine)->hello);
  say_card(options, (*engine)->hello);

  Result<journal::Journal> journal =
      open_journal(options, *recorded, (*engine)->hello, outcome.coverage);
  if (!journal) return propagate(journal);
  outcome.paths = journal->paths();
  say_where(options, *journal, *recorded);
  const JudgeRules rules{options.request.profile(), options.standards,
                         std::string(engines::device_kind(outcome.device)),
                         rerun_of(options, *journal), recorded->dialect};
  CheckWork work(options, recorded->dump, plan, rules, *journal, outcome.coverage);
  const Result<engines::DispatchEnd> end = dispatch(
      work, journal->done(), outcome.total,
      make_workers(options, recorded->engine_devices, outcome.total - journal->done()),
      std::move(**engine), run_options(options, *recorded, outcome.device), options.dispatch);
  if (!end) return resumable(end.error(), outcome.paths);
  outcome.interrupted = *end == engines::DispatchEnd::kInterrupted;
  if (outcome.interrupted) return outcome;
  if (const Result<void> finished = journal->finish(); !finished) {
    return resumable(finished.error(), outcome.paths);
  }
  outcome.done = outcome.total;
  return outcome;
}

}  // namespace msprobe::check
