// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "cli/parser.h"
#include "core/new_file.h"
#include "foreign_devices.h"
#include "freed_memory.h"
#include "libtorch/broken_kernels.h"
#include "libtorch/device.h"
#include "libtorch/errors.h"
#include "libtorch/jit_compile.h"
#include "libtorch/matrix_tiles.h"
#include "protocol/frames.h"
#include "python_functions.h"
#include "serve.h"
#include "sim_device.h"
#include "worker/replay_dump.h"

namespace {

using namespace msprobe;

constexpr int kCannotWork = 2;

struct Options {
  std::string device = "cpu";
  std::vector<std::string> device_libraries;
  engine::SimSetup sim;
  std::string reference, kernel;
  bool jit_compile = false;
  int threads = 1;
  std::string replay;  // empty: serve msprobe
  bool equal_precision = false;
  std::optional<std::uint64_t> seed;
  worker::ReplayOptions replay_options;
};

// Whoever loaded this library, and what that did before.
struct Host {
  int requests = STDIN_FILENO;
  int frames = STDOUT_FILENO;
  bool has_plugin = false;
  bool jit_compile_taken = false;
};

// What an operator prints must not get among the frames: standard output becomes standard error,
// and the frames go where it was.
int take_standard_output() {
  const int frames = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return frames;
}

// Leaves no partial file of a tensor. Async-signal-safe calls only.
void end_by_signal(int number) {
  remove_unfinished_files();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

bool user_kernels_missing() { return engine::user_kernels().empty(); }

Result<engine::ServeOptions> open_named(const std::string& name, libtorch::BareIds bare_ids) {
  if (name.substr(0, name.find(':')) == "inductor") {
    if (user_kernels_missing()) {
      return fail(ErrorKind::kUnsupported,
                  "no device inductor: its kernels are compiled in a Python with PyTorch");
    }
    return engine::ServeOptions{at::kCPU, false, name};
  }
  if (name == "recorded") return engine::ServeOptions{at::kCPU, true, name};
  if (engine::is_foreign(name)) {
    auto foreign = engine::open_foreign_device(name);
    if (!foreign) return propagate(foreign);
    return engine::ServeOptions{at::kCPU, false, name, *std::move(foreign)};
  }
  const Result<at::Device> device = libtorch::open_device(name, bare_ids);
  if (!device) return propagate(device);
  return engine::ServeOptions{*device, false, libtorch::is_bare_id(name) ? device->str() : name};
}

// "npu:0,cuda:0,cpu" is the first of them that there is; an error is that of the last.
Result<engine::ServeOptions> open_device(const Options& options, const Host& host) {
  const bool bare = libtorch::is_bare_id(options.device);
  const bool on_sim = engine::is_sim(options.device) || (bare && options.sim.given());
  if (on_sim) {
    if (Result<void> loaded = engine::load_sim(options.sim); !loaded) return propagate(loaded);
  }
  for (const std::string& library : options.device_libraries) {
    if (Result<void> loaded = libtorch::load_back_end(library); !loaded) return propagate(loaded);
  }
  const bool jit = libtorch::set_jit_compile(options.jit_compile) || host.jit_compile_taken;
  const bool loaded = on_sim || host.has_plugin || !options.device_libraries.empty();
  const auto bare_ids = loaded ? libtorch::BareIds::kLoadedBackEnd : libtorch::BareIds::kFirstKind;
  std::string_view names = options.device;
  while (true) {
    const std::size_t comma = names.find(',');
    Result<engine::ServeOptions> opened = open_named(std::string(names.substr(0, comma)), bare_ids);
    if (opened) {
      opened->jit_compile_has_effect = jit;
      opened->user = engine::user_functions();
      opened->kernels = engine::user_kernels();
    }
    if (opened || comma == std::string_view::npos) return opened;
    names.remove_prefix(comma + 1);
  }
}

int serve(const Options& options, const Host& host) {
  const int frames = host.frames == STDOUT_FILENO ? take_standard_output() : host.frames;
  const Result<engine::ServeOptions> device = open_device(options, host);
  if (!device) {
    (void)protocol::write_all(frames, protocol::encode(protocol::Fatal{device.error().message}));
    return kCannotWork;
  }
  const Result<engine::Served> served = engine::serve(host.requests, frames, *device);
  if (!served) {
    (void)protocol::write_all(frames, protocol::encode(protocol::Fatal{served.error().message}));
    return kCannotWork;
  }
  return *served == engine::Served::kDeviceGone ? protocol::kDeviceGone : 0;
}

int run_replay(const Options& options, const Host& host) {
  ::dup2(host.frames, STDOUT_FILENO);
  const Result<engine::ServeOptions> device = open_device(options, host);
  worker::ReplayOptions job = options.replay_options;
  job.dump = options.replay;
  if (device) {
    job.execute.device = device->device;
    job.execute.recorded = device->recorded;
    job.execute.device_calls = libtorch::device_calls();
    job.execute.user = device->user;
  }
  if (options.equal_precision) worker::compare_in_equal_precision(job);
  if (options.seed) job.execute.arguments.replay.seed = *options.seed;
  const auto print = [](const std::string& text) { fmt::print("{}", text); };
  const Result<bool> good =
      device ? worker::replay_dump(job, print) : Result<bool>(propagate(device));
  if (good) return *good ? 0 : 1;
  fmt::print(stderr, "msprobe-engine: {}\n", good.error().message);
  return kCannotWork;
}

}  // namespace

int msprobe_engine_main(int argc, char** argv, int requests, int frames, int hosted,
                        int jit_compile_taken) {
  const Host host{requests, frames, hosted != 0, jit_compile_taken != 0};
  std::signal(SIGTERM, &end_by_signal);
  engine::keep_freed_memory();
  libtorch::avoid_unusable_tiles();
  cli::Parser parser("msprobe-engine",
                     "runs recorded calls for msprobe; started by it, not by users");
  Options options;
  worker::ReplayOptions& replayed = options.replay_options;
  parser.value(
      "--device", options.device,
      "N, cpu, cuda:N, npu:N, sim:N or recorded; with several (a,b), the first that exists");
  parser.value("--device-lib", options.device_libraries,
               "library of a back end to load, or a module of Python that brings one");
  parser.value("--sim-profile", options.sim.profile, "arithmetic of the simulated device");
  parser.value("--sim-config", options.sim.config, "faults of the simulated device");
  parser.value("--sim-log", options.sim.log, "log file for the results of the simulated device");
  // Read by the host, which is the user's Python then.
  parser.value("--reference", options.reference, "file of the user's references");
  parser.value("--kernel", options.kernel, "file of the user's kernels");
  parser.flag("--jit-compile", options.jit_compile, "jit compile mode, for a back end that has it");
  parser.value("--threads", options.threads, "threads inside an operator").between(1, 1024);
  parser.value("--replay", options.replay, "run a whole dump.json and say how much of it ran");
  parser.flag("--equal-precision", options.equal_precision,
              "with --replay: compute as recorded and compare with the recorded outputs");
  parser.flag("--per-call", replayed.per_call, "with --replay: one line of JSON per call");
  parser.value("--only", replayed.only, "with --replay: only this call");
  parser.value("--seed", options.seed,
               "with --replay: the seed of the run (with --equal-precision: 0)");
  const Result<cli::Parser::Parsed> parsed = parser.parse({argv + 1, argv + argc});
  if (!parsed) {
    fmt::print(stderr, "msprobe-engine: {}\n", parsed.error().message);
    return kCannotWork;
  }
  if (*parsed == cli::Parser::Parsed::kHelp) {
    fmt::print("{}", parser.help("msprobe-engine"));
    return 0;
  }
  at::set_num_threads(options.threads);
  libtorch::make_errors_short();
  libtorch::patch_broken_kernels();
  if (host.has_plugin) options.device_libraries.clear();  // a module, which is imported
  return options.replay.empty() ? serve(options, host) : run_replay(options, host);
}
