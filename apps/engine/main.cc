// msprobe-engine: the worker process of msprobe, and the only program that links LibTorch.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "replay.h"

namespace {

using namespace msprobe;

int run(int argc, char** argv) {
  CLI::App app("msprobe-engine: replays recorded calls for msprobe");
  engine::ReplayOptions replay;
  bool equal_precision = false;
  int threads = 1;
  std::string dump;
  app.add_option("--replay", dump, "replay a whole dump.json in this process");
  app.add_flag(
      "--equal-precision", equal_precision,
      "with --replay: compute in the recorded precision and compare with the recorded outputs");
  app.add_flag("--per-call", replay.per_call, "with --replay: one line of JSON per call");
  app.add_option("--only", replay.only, "with --replay: this call alone");
  app.add_option("--seed", replay.execute.arguments.seed,
                 "seed of drawn tensors and random operators");
  app.add_option("--threads", threads, "threads inside an operator")->check(CLI::Range(1, 1024));
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(threads);
  if (!dump.empty()) {
    replay.dump = dump;
    replay.execute.recorded = equal_precision;
    replay.execute.raise = !equal_precision;
    const Result<bool> good = engine::replay(replay);
    if (!good) {
      fmt::print(stderr, "{}\n", good.error().message);
      return 2;
    }
    return *good ? 0 : 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
