// SPDX-License-Identifier: Apache-2.0
// msprobe shrink: the smallest form of one failing call, as a dump and as a Python script.
#include <memory>

#include <fmt/format.h>

#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/log.h"
#include "core/visible_text.h"
#include "dump_input.h"
#include "own_files.h"
#include "shrink/shrink_call.h"

namespace msprobe::app {
namespace {

ExitStatus run(shrink::ShrinkOptions options) {
  const Result<std::string> dump = one_dump(options.api_info);
  if (!dump) return refuse(dump.error());
  options.api_info = *dump;
  const Result<std::filesystem::path> engine = find_own_engine(options.engine.program);
  if (!engine) return refuse(engine.error());
  options.engine.program = engine->string();
  options.print = [](const std::string& text) { fmt::print("{}", visible_text(text)); };
  const Result<shrink::ShrinkOutcome> outcome = shrink::shrink_call(options);
  if (!outcome) return refuse(outcome.error());
  if (!outcome->no_fault) return kPassed;
  log::error("{} does not fail on {}: {}", options.call, outcome->device, *outcome->no_fault);
  return kCannot;
}

}  // namespace

Run declare_shrink(cli::Parser& command) {
  auto options = std::make_shared<shrink::ShrinkOptions>();
  command.group("Input");
  command
      .value("DUMP,-api_info,--api_info_file", options->api_info,
             "dump.json that contains the call")
      .required();
  command.value("--only", options->call, "the failing call, such as Functional.conv2d.0")
      .named("CALL")
      .required();
  command.group("Device");
  command.value("-d,--device", options->device, "the device on which the call fails")
      .named("DEVICE")
      .shows_default();
  declare_functions(command, options->engine);
  declare_engine_options(command, options->engine);
  declare_timeout(command, options->timeout_seconds);
  command.group("Output");
  command
      .value("-o,--out_path", options->out, "directory for the reproduction (default: shrunk/CALL)")
      .named("DIR");
  return [options] { return run(*options); };
}

}  // namespace msprobe::app
