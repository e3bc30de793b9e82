// SPDX-License-Identifier: Apache-2.0
#include "shrink/reproduction.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/new_file.h"
#include "core/path_check.h"
#include "dump/dump_json.h"
#include "engines/device_name.h"
#include "shrink/call_json.h"
#include "shrink/reproduction_data.h"
#include "shrink/script.h"

namespace msprobe::shrink {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTensors = "tensors";
constexpr const char* kScript = "reproduce.py";
constexpr const char* kRules = "sim.yaml";
constexpr const char* kDump = "dump.json";

void set_shape(dump::Value& value, const protocol::MeasuredLeaf& leaf) {
  if (auto* tensor = std::get_if<dump::TensorRecord>(&value.data)) tensor->shape = leaf.bench.shape;
}

// The shapes that the benchmark gave are those of the outputs now.
void set_output_shapes(const ProbeAnswer& answer, dump::CallRecord& call) {
  const std::vector<protocol::MeasuredLeaf>& leaves = answer.call.forward;
  auto& outputs = call.forward.output;
  auto& changed = call.forward.mutated;
  for (std::size_t i = 0; i < std::min(outputs.size(), leaves.size()); ++i) {
    set_shape(outputs[i], leaves[i]);
  }
  for (std::size_t i = 0; i < changed.size() && outputs.size() + i < leaves.size(); ++i) {
    set_shape(changed[i].second, leaves[outputs.size() + i]);
  }
  if (call.backward) call.backward->output.clear();
}

ScriptDevice script_device(const ShrinkOptions& options) {
  ScriptDevice device{options.device, options.engine.device_library, "", false,
                      options.engine.replay.seed};
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

// A call that ends its process or raises leaves no inputs behind; they are the same on every
// device.
Result<ProbeAnswer> ask_on_cpu(const ShrinkOptions& options, const RecordedCall& recorded,
                               const dump::CallRecord& call, const fs::path& saved) {
  engines::EngineOptions on_cpu;
  on_cpu.program = options.engine.program;
  Probe probe(engines::command_of(on_cpu, "cpu"),
              replay_settings(recorded, options.api_info, options.engine.replay),
              options.timeout_seconds);
  return probe.ask(call, saved.string());
}

}  // namespace

Result<fs::path> claim_directory(const std::string& out) {
  Result<fs::path> directory = prepare_output_directory(out);
  if (!directory) return propagate(directory);
  std::error_code error;
  const bool ours =
      fs::exists(*directory / kScript, error) || fs::is_directory(*directory / kTensors, error);
  if (fs::exists(*directory / kDump, error) && !ours) {
    return fail(ErrorKind::kUsage,
                fmt::format("{}: another dump is there, which would be overwritten; choose another "
                            "directory with -o",
                            (*directory / kDump).string()));
  }
  if (!ours) return directory;
  for (const char* name : {kTensors, kScript, kRules, kDump, dump::kDataDirectory}) {
    fs::remove_all(*directory / name, error);
  }
  return directory;
}

Result<Reproduction> write_reproduction(const ShrinkOptions& options, const RecordedCall& recorded,
                                        const fs::path& out, Probe& probe, dump::CallRecord call) {
  const fs::path saved = out / kTensors;
  std::error_code error;
  fs::remove_all(saved, error);
  if (const Result<void> made = make_directories(saved); !made) return propagate(made);
  Result<ProbeAnswer> answer = probe.ask(call, saved.string());
  if (!answer) return propagate(answer);
  if (!recorded.is_fixed()) set_output_shapes(*answer, call);
  fs::remove_all(out / dump::kDataDirectory, error);
  if (has_data(call.forward)) {
    if (Result<void> copied =
            copy_data(recorded.data_directory, recorded.call.full_name, out / dump::kDataDirectory);
        !copied)
      return propagate(copied);
  }
  if (!options.engine.sim_config.empty()) {
    const Result<FileBytes> rules = load_file(options.engine.sim_config);
    if (!rules) return propagate(rules);
    if (auto done = write_new_file(out / kRules, std::string(rules->text())); !done) {
      return propagate(done);
    }
  }
  if (auto done = write_new_file(out / kDump,
                                 dump_of(call, has_data(call.forward), recorded.dialect->name));
      !done) {
    return propagate(done);
  }
  if (answer->kind == ProbeAnswer::Kind::kLost || answer->raised) {
    const Result<ProbeAnswer> inputs = ask_on_cpu(options, recorded, call, saved);
    if (!inputs) return propagate(inputs);
  }
  Reproduction written{out / kScript, *std::move(answer)};
  if (auto done = write_script(options, recorded, call, written, ScriptForm::kShort); !done) {
    return propagate(done);
  }
  return written;
}

Result<void> write_script(const ShrinkOptions& options, const RecordedCall& recorded,
                          const dump::CallRecord& call, const Reproduction& reproduction,
                          ScriptForm form) {
  const fs::path saved = reproduction.script.parent_path() / kTensors;
  const ScriptDevice device = script_device(options);
  const ProbeAnswer& answer = reproduction.answer;
  const Result<std::string> script =
      recorded.dialect->saves_npy ? mindspore_script(call, saved, device, answer.call, answer.text)
                                  : python_script(call, saved, device, answer, form);
  if (!script) return propagate(script);
  return write_new_file(reproduction.script, *script);
}

}  // namespace msprobe::shrink
