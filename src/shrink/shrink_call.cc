// SPDX-License-Identifier: Apache-2.0
#include "shrink/shrink_call.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/call_command.h"
#include "core/file.h"
#include "core/new_file.h"
#include "core/path_check.h"
#include "core/shell_words.h"
#include "dump/dump_json.h"
#include "engines/device_name.h"
#include "shrink/call_json.h"
#include "shrink/mindspore_script.h"
#include "shrink/probe.h"
#include "shrink/recorded_call.h"
#include "shrink/reduce.h"
#include "shrink/reproduction_data.h"
#include "shrink/script.h"

namespace msprobe::shrink {
namespace {

namespace fs = std::filesystem;

// The shapes that the benchmark gave are those of the outputs now.
void set_output_shapes(const ProbeAnswer& answer, dump::CallRecord& call) {
  auto& outputs = call.forward.output;
  for (std::size_t i = 0; i < std::min(outputs.size(), answer.call.forward.size()); ++i) {
    if (auto* tensor = std::get_if<dump::TensorRecord>(&outputs[i].data)) {
      tensor->shape = answer.call.forward[i].bench.shape;
    }
  }
  if (call.backward) call.backward->output.clear();
}

std::string shapes_of(const dump::CallRecord& call) {
  std::string text;
  const auto add = [&](const dump::Value& value) {
    const auto* tensor = value.as<dump::TensorRecord>();
    if (tensor == nullptr) return;
    text += fmt::format("{}({})", text.empty() ? "" : ", ", fmt::join(tensor->shape, ", "));
  };
  for (const dump::Value& value : call.forward.input_args) add(value);
  for (const auto& [key, value] : call.forward.input_kwargs) add(value);
  return text;
}

ScriptDevice script_device(const ShrinkOptions& options) {
  ScriptDevice device{options.device, options.engine.device_library, "", false,
                      options.engine.seed};
  if (engines::device_kind(options.device) != "sim") return device;
  if (device.name == "sim") device.name = "sim:0";
  std::error_code error;
  device.library = fs::weakly_canonical(
                       fs::path(options.engine.program).parent_path() / "libmsprobe-sim.so", error)
                       .string();
  device.sim_profile = options.engine.sim_profile;
  device.sim_config = !options.engine.sim_config.empty();
  return device;
}

std::string replay_command(const ShrinkOptions& options, const fs::path& dump) {
  engines::EngineOptions engine = options.engine;
  if (!engine.sim_config.empty()) engine.sim_config = (dump.parent_path() / "sim.yaml").string();
  CallCommand replay("acc_check");
  replay.add("-api_info", dump.string()).add("-d", options.device);
  engines::add_device(replay, engine);
  engines::add_run(replay, engine);
  return replay.text();
}

// A call that ends its process leaves no inputs behind; they are the same on every device.
Result<ProbeAnswer> ask_on_cpu(const ShrinkOptions& options, const RecordedCall& recorded,
                               const dump::CallRecord& call, const fs::path& saved) {
  engines::EngineOptions on_cpu;
  on_cpu.program = options.engine.program;
  Probe probe(engines::command_of(on_cpu, "cpu"),
              run_options(recorded, options.api_info, options.engine.seed),
              options.timeout_seconds);
  return probe.ask(call, saved.string());
}

// Writes the dump, the script and what they need.
Result<void> write_reproduction(const ShrinkOptions& options, const RecordedCall& recorded,
                                const fs::path& out, Probe& probe, dump::CallRecord call) {
  const fs::path saved = out / "tensors";
  if (const Result<void> made = make_directories(saved); !made) return made;
  const Result<ProbeAnswer> answer = probe.ask(call, saved.string());
  if (!answer) return propagate(answer);
  if (!recorded.is_fixed()) set_output_shapes(*answer, call);
  if (has_data(call.forward)) {
    if (Result<void> copied =
            copy_data(recorded.data_directory, recorded.call.full_name, out / dump::kDataDirectory);
        !copied)
      return copied;
  }
  if (!options.engine.sim_config.empty()) {
    const Result<FileBytes> rules = load_file(options.engine.sim_config);
    if (!rules) return propagate(rules);
    if (auto done = write_new_file(out / "sim.yaml", std::string(rules->text())); !done)
      return done;
  }
  if (auto done = write_new_file(out / "dump.json",
                                 dump_of(call, has_data(call.forward), recorded.dialect->name));
      !done) {
    return done;
  }
  options.print(fmt::format("{}\n{}\n", answer->text, replay_command(options, out / "dump.json")));
  if (answer->kind == ProbeAnswer::Kind::kLost) {
    const Result<ProbeAnswer> inputs = ask_on_cpu(options, recorded, call, saved);
    if (!inputs) return propagate(inputs);
  }
  const ScriptDevice device = script_device(options);
  const Result<std::string> script =
      recorded.dialect->saves_npy
          ? mindspore_script(call, saved, device, answer->call, answer->text)
          : python_script(call, saved, device, answer->call, answer->text);
  if (!script) return propagate(script);
  if (auto done = write_new_file(out / "reproduce.py", *script); !done) return done;
  options.print(fmt::format("python3 {}\n", shell_path(out / "reproduce.py")));
  return {};
}

}  // namespace

Result<ShrinkOutcome> shrink_call(ShrinkOptions options) {
  const Result<RecordedCall> recorded = read_call(options.api_info, options.call, options.device);
  if (!recorded) return propagate(recorded);
  options.device = recorded->device;
  const Result<fs::path> out = prepare_output_directory(options.out);
  if (!out) return propagate(out);
  Probe probe(engines::command_of(options.engine, options.device),
              run_options(*recorded, options.api_info, options.engine.seed),
              options.timeout_seconds);
  const Result<ProbeAnswer> first = probe.ask(recorded->call);
  if (!first) return propagate(first);
  options.device = probe.device();  // the script cannot open a bare id
  if (!first->fails()) {
    return ShrinkOutcome{options.device,
                         first->text.empty() ? "the strict status passes" : first->text};
  }
  const auto fails = [&](const dump::CallRecord& call) -> Result<bool> {
    const Result<ProbeAnswer> answer = probe.ask(call);
    if (!answer) return propagate(answer);
    return answer->kind == first->kind && keeps_cause(first->cause, answer->cause);
  };
  Result<Reduced> reduced =
      recorded->is_fixed() ? Reduced{recorded->call, 1} : reduce(recorded->call, fails);
  if (!reduced) return propagate(reduced);
  if (recorded->is_fixed()) {
    options.print(fmt::format("{}: inputs {}, as recorded: the recorded results belong to them\n",
                              options.call, shapes_of(recorded->call)));
  } else {
    options.print(fmt::format("{}: inputs {} -> {}, after {} tries\n", options.call,
                              shapes_of(recorded->call), shapes_of(reduced->call), reduced->tries));
  }
  const Result<void> written =
      write_reproduction(options, *recorded, *out, probe, std::move(reduced->call));
  if (!written) return propagate(written);
  return ShrinkOutcome{options.device, {}};
}

}  // namespace msprobe::shrink
