// SPDX-License-Identifier: Apache-2.0
#include "overflow/overflow_run.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "check/cost.h"
#include "check/dialect.h"
#include "check/plan.h"
#include "documented/skip_message.h"
#include "dump/dump_json.h"
#include "dump/legacy_json.h"
#include "engines/device_name.h"
#include "engines/greeting.h"
#include "tables/output_file.h"

namespace msprobe::overflow {
namespace {

using check::Plan;
using log::Severity;

constexpr std::string_view kRecordedDevice = "recorded";
constexpr std::size_t kListedNames = 20;

struct Input {
  dump::DumpIndex dump;
  Plan plan;
  bool legacy = false;
};

Result<dump::DumpIndex> open_input(const OverflowOptions& options, bool& legacy) {
  Result<FileBytes> file = load_file(options.input);
  if (!file) return propagate(file);
  legacy = options.backward || dump::is_legacy(*file);
  if (legacy) return dump::open_legacy(options.input, options.backward);
  Result<dump::DumpIndex> dump = dump::index_dump(*std::move(file), options.input.string());
  if (!dump) return dump;
  const Result<const check::Dialect*> dialect = check::dialect_of(*dump, options.input);
  if (!dialect) return propagate(dialect);
  if (*dialect != &check::pytorch_dialect()) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("{} is a {} dump; the overflow check is for PyTorch dumps",
                            options.input.string(), (*dialect)->name));
  }
  return dump;
}

Result<Input> read_input(const OverflowOptions& options) {
  Input input;
  Result<dump::DumpIndex> dump = open_input(options, input.legacy);
  if (!dump) return propagate(dump);
  input.dump = *std::move(dump);
  for (const std::string& warning : check::warnings_about(input.dump)) {
    options.say(Severity::kWarning, warning);
  }
  Result<Plan> plan = check::plan_calls(input.dump, {.only = options.only});
  if (!plan) return propagate(plan);
  input.plan = *std::move(plan);
  return input;
}

// Without a device the recording tells what the device gave. A pre-check recording of the older
// form holds no outputs: there the CPU is the device.
RowContext context_of(const OverflowOptions& options, const Input& input,
                      const std::string& opened) {
  const DeviceSide recorded = input.legacy ? DeviceSide::kProvenance : DeviceSide::kRecorded;
  const std::string name(kRecordedDevice);
  if (options.device == kRecordedDevice) return {recorded, name};
  const bool chosen = !options.device.empty() || engines::device_kind(opened) != "cpu";
  if (chosen || (input.legacy && !input.dump.of_overflow)) return {DeviceSide::kRun, opened};
  return {recorded, name};
}

ReplaySettings replay_settings(const OverflowOptions& options, const Input& input,
                               DeviceSide side) {
  ReplaySettings run = options.engine.replay;
  run.dump_name = options.input.filename().string();
  if (!input.dump.dump_data_dir.empty()) {
    const std::filesystem::path beside = options.input.parent_path();
    const bool elsewhere = input.legacy && !options.data_directory.empty();
    run.data_directory = (elsewhere      ? options.data_directory
                          : input.legacy ? beside
                                         : beside / dump::kDataDirectory)
                             .string();
  }
  run.find_moved_files = input.legacy;
  run.bench_as_device = true;
  run.bench_alone = side != DeviceSide::kRun;
  return run;
}

class OverflowWork : public engines::Work {
 public:
  OverflowWork(const OverflowOptions& options, const Input& input, RowContext context,
               std::optional<tables::OutputFile>& csv, OverflowOutcome& outcome)
      : options_(options),
        input_(input),
        context_(std::move(context)),
        csv_(csv),
        outcome_(outcome) {}

  std::optional<double> cost(std::size_t position) override {
    if (input_.plan.calls[position].skip != SkipReason::kNone) return std::nullopt;
    return check::estimate_cost(slice(position));
  }

  protocol::CallRequest request(std::size_t position, bool /*save*/) override {
    const dump::CallSlice& call = slice(position);
    protocol::CallRequest request;
    request.id = position;
    request.full_name = call.full_name;
    request.forward_json = call.forward_json;
    request.backward_json = call.backward_json;
    return request;
  }

  bool answered(std::size_t position, const protocol::MeasuredCall& call,
                std::size_t /*device*/) override {
    const Result<dump::CallRecord> record = parser_.parse(slice(position), "");
    answers_[position] = rows_of(slice(position), record ? &*record : nullptr, call, context_);
    return false;
  }

  void commit(std::size_t position) override {
    const SkipReason skip = input_.plan.calls[position].skip;
    if (skip != SkipReason::kNone) {
      const std::string_view name = slice(position).full_name;
      write(skipped_row(slice(position), documented::planned_skip(skip, name)));
      return;
    }
    const auto rows = answers_.extract(position);
    for (const OverflowRow& row : rows.mapped()) write(row);
  }

  Result<void> flush() override { return csv_ ? csv_->flush_if_full() : Result<void>(); }
  void say(const std::string& text) override { options_.say(Severity::kWarning, text); }
  void show_progress(std::size_t committed) override {
    if (options_.show_progress) options_.show_progress(committed, input_.plan.calls.size());
  }

 private:
  const dump::CallSlice& slice(std::size_t position) const {
    return input_.dump.calls[input_.plan.calls[position].index];
  }

  void write(const OverflowRow& row) {
    options_.on_row(row);
    if (csv_) append_csv(row, csv_->buffer());
    outcome_.add(row);
  }

  const OverflowOptions& options_;
  const Input& input_;
  RowContext context_;
  std::optional<tables::OutputFile>& csv_;
  OverflowOutcome& outcome_;
  dump::CallParser parser_;
  std::unordered_map<std::size_t, std::vector<OverflowRow>> answers_;  // not committed yet
};

// Without -d: the first accelerator, "npu:0" before "cuda:0"; empty if there is none.
std::string accelerator(const std::vector<std::string>& devices) {
  for (const std::string_view kind : {"npu", "cuda"}) {
    const auto found = std::ranges::find(
        devices, kind, [](const std::string& name) { return engines::device_kind(name); });
    if (found != devices.end()) return *found;
  }
  return {};
}

struct Engine {
  std::string device;                         // every engine of the run opens it
  std::optional<engines::ReadyEngine> ready;  // empty: interrupted
};

Result<engines::EngineProcess> start_engine(const OverflowOptions& options,
                                            const std::string& device) {
  return engines::EngineProcess::start(engines::command_of(options.engine, device));
}

// The engine that was started on the CPU tells what else there is.
Result<Engine> choose_engine(const OverflowOptions& options, engines::EngineProcess started,
                             std::string device) {
  Result<std::optional<engines::ReadyEngine>> ready =
      engines::greet(std::move(started), options.dispatch.interrupt);
  if (!ready) return propagate(ready);
  const bool open = options.device.empty() && *ready;
  const std::string better = open ? accelerator((*ready)->hello.devices) : std::string();
  if (!better.empty()) {
    Result<engines::EngineProcess> again = start_engine(options, better);
    if (!again) return propagate(again);
    ready = engines::greet(std::move(*again), options.dispatch.interrupt);
    if (!ready) return propagate(ready);
    device = better;
  }
  return Engine{std::move(device), *std::move(ready)};
}

// Backward entries whose forward entry is not in the file: they cannot be run.
void say_unmatched(const OverflowOptions& options, const dump::DumpIndex& dump,
                   OverflowOutcome& outcome) {
  for (const std::string& key : dump.unmatched_keys) {
    OverflowRow row{.name = key};
    row.message = fmt::format("Run {} UT Error: {} has no forward entry of this call", key,
                              options.input.filename().string());
    options.on_row(row);
    outcome.add(row);
  }
}

}  // namespace

void OverflowOutcome::add(const OverflowRow& row) {
  switch (row.verdict) {
    case OverflowVerdict::kNormal:
      ++normal;
      break;
    case OverflowVerdict::kAbnormal:
      ++abnormal;
      if (abnormal_names.size() < kListedNames) {
        abnormal_names.push_back(
            row.first.empty() ? row.name : fmt::format("{} output {}", row.name, row.first));
      }
      break;
    case OverflowVerdict::kNotReproduced:
      ++not_reproduced;
      break;
    case OverflowVerdict::kCpuOnly:
      ++cpu_only;
      break;
    case OverflowVerdict::kSkip:
      ++skipped;
      lost += row.lost ? 1 : 0;
      break;
  }
}

Result<OverflowOutcome> run(const OverflowOptions& options) {
  options.say(Severity::kInfo, "start UT test");
  // The engine loads while the file is read.
  const bool on_cpu = options.device.empty() || options.device == kRecordedDevice;
  const std::string first = on_cpu ? "cpu" : options.device;
  Result<engines::EngineProcess> started = start_engine(options, first);
  if (!started) return propagate(started);
  const Result<Input> input = read_input(options);
  if (!input) return propagate(input);
  Result<Engine> engine = choose_engine(options, std::move(*started), first);
  if (!engine) return propagate(engine);
  OverflowOutcome outcome;
  outcome.interrupted = !engine->ready;
  if (outcome.interrupted) return outcome;
  const RowContext context = context_of(options, *input, engine->device);
  outcome.device = context.device;
  std::optional<tables::OutputFile> csv;
  if (options.csv) {
    Result<tables::OutputFile> file = tables::OutputFile::create(*options.csv);
    if (!file) return propagate(file);
    csv = *std::move(file);
    csv->buffer() += csv_header();
  }
  say_unmatched(options, input->dump, outcome);
  const std::size_t total = input->plan.calls.size();
  const std::size_t workers = std::clamp<std::size_t>(total, 1, options.workers);
  OverflowWork work(options, *input, context, csv, outcome);
  const Result<engines::DispatchEnd> end = engines::dispatch(
      work, 0, total,
      std::vector<engines::Worker>(
          workers,
          {[&options, device = engine->device] { return start_engine(options, device); }, 0}),
      *std::move(engine->ready), {.replay = replay_settings(options, *input, context.side)},
      options.dispatch);
  if (!end) return propagate(end);
  outcome.interrupted = *end == engines::DispatchEnd::kInterrupted;
  if (csv && !outcome.interrupted) {
    if (const Result<void> written = csv->commit(); !written) return propagate(written);
  }
  options.say(Severity::kInfo, "UT task completed.");
  return outcome;
}

}  // namespace msprobe::overflow
