// msprobe shrink: the smallest form of one failing call, as a dump and as a Python script.
#include <cstdlib>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "check/dialect.h"
#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/file.h"
#include "core/log.h"
#include "core/path_check.h"
#include "dump/dump_json.h"
#include "engines/device_name.h"
#include "engines/engine_process.h"
#include "own_files.h"
#include "shrink/call_json.h"
#include "shrink/mindspore_script.h"
#include "shrink/probe.h"
#include "shrink/reduce.h"
#include "shrink/script.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;

struct ShrinkArguments {
  std::string api_info;
  std::string call;
  std::string out = "shrunk";
  std::string device = "0";
  std::string device_library;
  std::string sim_profile;
  std::string sim_config;
  std::string engine;
  std::uint64_t seed = 1234;
  int threads = 1;
  double timeout_seconds = 60;
};

engines::EngineCommand command_of(const ShrinkArguments& arguments, const fs::path& engine) {
  engines::EngineCommand command{
      engine, {"--device", arguments.device, "--threads", std::to_string(arguments.threads)}};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) command.arguments.insert(command.arguments.end(), {option, value});
  };
  add("--device-lib", arguments.device_library);
  add("--sim-profile", arguments.sim_profile);
  add("--sim-config", arguments.sim_config);
  return command;
}

struct Recorded {
  dump::CallRecord call;
  std::string data_directory;  // empty: the dump holds ranges only
  const check::Dialect* dialect = nullptr;
  std::string device;  // as the engine opens it

  // The device's results belong to the inputs that were recorded.
  bool is_fixed() const { return device == "recorded"; }
};

Result<Recorded> read_call(const ShrinkArguments& arguments) {
  const Result<fs::path> path = check_input_file(arguments.api_info, {.suffix = ".json"});
  if (!path) return propagate(path);
  const Result<dump::DumpIndex> index = dump::open_dump(*path);
  if (!index) return propagate(index);
  const Result<const check::Dialect*> dialect = check::dialect_of(*index, *path);
  if (!dialect) return propagate(dialect);
  for (const dump::CallSlice& slice : index->calls) {
    if (slice.full_name != arguments.call) continue;
    Result<dump::CallRecord> call = dump::parse_call(slice, path->filename().string());
    if (!call) return propagate(call);
    Recorded recorded{*std::move(call), "", *dialect,
                      (*dialect)->engine_device(arguments.device, *index)};
    if (!index->dump_data_dir.empty()) {
      recorded.data_directory = (path->parent_path() / "dump_tensor_data").string();
    }
    return recorded;
  }
  return fail(ErrorKind::kUsage,
              fmt::format("{}: no call {}", path->filename().string(), arguments.call));
}

Result<void> write_text(const fs::path& path, const std::string& text) {
  if (std::ofstream(path, std::ios::binary) << text) return {};
  return fail(ErrorKind::kIo, fmt::format("{}: cannot be written", path.string()));
}

bool has_data(const dump::CallRecord& call) {
  return shrink::json_of(call.forward).find("\"data_name\"") != std::string::npos;
}

// The shapes that the benchmark gave are those of the outputs now.
void set_output_shapes(const shrink::Answer& answer, dump::CallRecord& call) {
  auto& outputs = call.forward.output;
  for (std::size_t i = 0; i < std::min(outputs.size(), answer.call.forward.size()); ++i) {
    if (auto* tensor = std::get_if<dump::TensorRecord>(&outputs[i].data)) {
      tensor->shape = answer.call.forward[i].bench_shape;
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

Result<void> copy_data(const Recorded& recorded, const fs::path& out) {
  std::error_code error;
  fs::create_directories(out / "dump_tensor_data", error);
  for (const auto& entry : fs::directory_iterator(recorded.data_directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(recorded.call.full_name + ".")) continue;
    fs::copy_file(entry.path(), out / "dump_tensor_data" / name,
                  fs::copy_options::overwrite_existing, error);
  }
  if (!error) return {};
  return fail(ErrorKind::kIo, fmt::format("{}: {}", recorded.data_directory, error.message()));
}

shrink::ScriptDevice script_device(const ShrinkArguments& arguments, const fs::path& engine) {
  shrink::ScriptDevice device{arguments.device, arguments.device_library, "", false};
  if (engines::device_kind(arguments.device) != "sim") return device;
  if (device.name == "sim") device.name = "sim:0";
  std::error_code error;
  device.library = fs::weakly_canonical(engine.parent_path() / "libmsprobe-sim.so", error).string();
  device.sim_profile = arguments.sim_profile;
  device.sim_config = !arguments.sim_config.empty();
  return device;
}

std::string replay_command(const ShrinkArguments& arguments, const fs::path& dump) {
  std::string text =
      fmt::format("msprobe acc_check -api_info {} -d {}", dump.string(), arguments.device);
  if (!arguments.device_library.empty()) text += " --device-lib " + arguments.device_library;
  if (!arguments.sim_profile.empty()) text += " --sim-profile " + arguments.sim_profile;
  if (!arguments.sim_config.empty()) {
    text += " --sim-config " + (dump.parent_path() / "sim.yaml").string();
  }
  return text;
}

protocol::RunOptions run_options(const ShrinkArguments& arguments, const Recorded& recorded) {
  protocol::RunOptions how;
  how.dialect = recorded.dialect->engine_name;
  how.save_npy = recorded.dialect->saves_npy;
  how.dump_name = fs::path(arguments.api_info).filename().string();
  how.data_directory = recorded.data_directory;
  how.seed = arguments.seed;
  how.strict = true;
  return how;
}

// A call that ends its process leaves no inputs behind; they are the same on every device.
Result<shrink::Answer> ask_on_cpu(const ShrinkArguments& arguments, const Recorded& recorded,
                                  const fs::path& engine, const dump::CallRecord& call,
                                  const fs::path& saved) {
  ShrinkArguments on_cpu;
  on_cpu.device = "cpu";
  shrink::Probe probe(command_of(on_cpu, engine), run_options(arguments, recorded),
                      arguments.timeout_seconds);
  return probe.ask(call, saved.string());
}

// Writes the dump, the script and what they need.
Result<void> write_reproduction(const ShrinkArguments& arguments, const Recorded& recorded,
                                const fs::path& engine, const fs::path& out, shrink::Probe& probe,
                                dump::CallRecord call) {
  const fs::path saved = out / "tensors";
  std::error_code error;
  fs::create_directories(saved, error);
  const Result<shrink::Answer> answer = probe.ask(call, saved.string());
  if (!answer) return propagate(answer);
  if (!recorded.is_fixed()) set_output_shapes(*answer, call);
  if (has_data(call)) {
    if (Result<void> copied = copy_data(recorded, out); !copied) return copied;
  }
  if (!arguments.sim_config.empty()) {
    const Result<FileBytes> rules = load_file(arguments.sim_config);
    if (!rules) return propagate(rules);
    if (auto done = write_text(out / "sim.yaml", std::string(rules->text())); !done) return done;
  }
  if (auto done = write_text(out / "dump.json",
                             shrink::dump_of(call, has_data(call), recorded.dialect->name));
      !done) {
    return done;
  }
  fmt::print("{}\n{}\n", answer->text, replay_command(arguments, out / "dump.json"));
  if (answer->kind == shrink::Answer::Kind::kLost) {
    const Result<shrink::Answer> inputs = ask_on_cpu(arguments, recorded, engine, call, saved);
    if (!inputs) return propagate(inputs);
  }
  const shrink::ScriptDevice device = script_device(arguments, engine);
  const Result<std::string> script =
      recorded.dialect->saves_npy
          ? shrink::mindspore_script(call, saved, device, answer->call, answer->text)
          : shrink::python_script(call, saved, device, answer->text);
  if (!script) return propagate(script);
  if (auto done = write_text(out / "reproduce.py", *script); !done) return done;
  fmt::print("python3 {}\n", (out / "reproduce.py").string());
  return {};
}

ExitStatus run(ShrinkArguments arguments) {
  const Result<fs::path> engine = find_own_engine(arguments.engine);
  if (!engine) return refuse(engine.error());
  const Result<Recorded> recorded = read_call(arguments);
  if (!recorded) return refuse(recorded.error());
  arguments.device = recorded->device;
  const Result<fs::path> out = prepare_output_directory(arguments.out);
  if (!out) return refuse(out.error());
  shrink::Probe probe(command_of(arguments, *engine), run_options(arguments, *recorded),
                      arguments.timeout_seconds);
  const Result<shrink::Answer> first = probe.ask(recorded->call);
  if (!first) return refuse(first.error());
  arguments.device = probe.device();  // the script cannot open a bare id
  if (!first->fails()) {
    log::error("{} does not fail on {}: {}", arguments.call, arguments.device,
               first->text.empty() ? "the strict status passes" : first->text);
    return kCannot;
  }
  const auto fails = [&](const dump::CallRecord& call) -> Result<bool> {
    const Result<shrink::Answer> answer = probe.ask(call);
    if (!answer) return propagate(answer);
    return answer->kind == first->kind;
  };
  Result<shrink::Reduced> reduced = recorded->is_fixed() ? shrink::Reduced{recorded->call, 1}
                                                         : shrink::reduce(recorded->call, fails);
  if (!reduced) return refuse(reduced.error());
  if (recorded->is_fixed()) {
    fmt::print("{}: inputs {}, as recorded: the recorded results belong to them\n", arguments.call,
               shapes_of(recorded->call));
  } else {
    fmt::print("{}: inputs {} -> {}, after {} tries\n", arguments.call, shapes_of(recorded->call),
               shapes_of(reduced->call), reduced->tries);
  }
  const Result<void> written =
      write_reproduction(arguments, *recorded, *engine, *out, probe, std::move(reduced->call));
  return written ? kPassed : refuse(written.error());
}

}  // namespace

Run declare_shrink(cli::Parser& command) {
  auto arguments = std::make_shared<ShrinkArguments>();
  command.value("--api_info_file", arguments->api_info, "-api_info: the dump.json with the call")
      .required();
  command.value("--only", arguments->call, "the failing call: Functional.conv2d.0").required();
  command.value("-o,--out_path", arguments->out, "directory for the reproduction").shows_default();
  command.value("-d,--device", arguments->device, "the device on which it fails").shows_default();
  command.value("--device-lib", arguments->device_library,
                "library of an out-of-tree backend, loaded by the engine");
  command.value("--sim-profile", arguments->sim_profile, "arithmetic of the simulated device");
  command.value("--sim-config", arguments->sim_config,
                "YAML with the faults of the simulated device");
  command.value("--engine", arguments->engine,
                "the msprobe-engine to use (else $MSPROBE_ENGINE, else beside msprobe)");
  command.value("--seed", arguments->seed, "seed of generated inputs").shows_default();
  command.value("--threads", arguments->threads, "threads inside an operator")
      .between(1, 1024)
      .shows_default();
  command.value("--timeout", arguments->timeout_seconds, "seconds a try may take")
      .positive()
      .shows_default();
  return [arguments] { return run(*arguments); };
}

}  // namespace msprobe::app
