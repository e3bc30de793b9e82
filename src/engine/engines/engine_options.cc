// SPDX-License-Identifier: Apache-2.0
#include "engines/engine_options.h"

#include <utility>
#include <vector>

namespace msprobe::engines {
namespace {

using Named = std::vector<std::pair<std::string, std::string>>;

Named device_options(const EngineOptions& options) {
  Named all;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) all.emplace_back(name, value);
  };
  add("--device-lib", options.device_library);
  add("--reference", options.reference);
  add("--kernel", options.kernel);
  add("--sim-profile", options.sim_profile);
  add("--sim-config", options.sim_config);
  return all;
}

}  // namespace

EngineCommand command_of(const EngineOptions& options, const std::string& device) {
  EngineCommand command{options.program,
                        {"--device", device, "--threads", std::to_string(options.threads)}};
  const auto add = [&](const std::string& name, const std::string& value) {
    command.arguments.insert(command.arguments.end(), {name, value});
  };
  for (const auto& [name, value] : device_options(options)) add(name, value);
  if (!options.sim_log.empty()) add("--sim-log", options.sim_log);
  if (options.jit_compile) command.arguments.emplace_back("--jit-compile");
  return command;
}

void add_device(CallCommand& command, const EngineOptions& options) {
  for (const auto& [name, value] : device_options(options)) command.add(name, value);
}

void add_flags(CallCommand& command, const EngineOptions& options) {
  for (const ReplayFlag& flag : kReplayFlags) {
    if (options.replay.*flag.value) command.add_flag(flag.option);
  }
}

void add_run(CallCommand& command, const EngineOptions& options) {
  const EngineOptions usual;
  if (options.replay.seed != usual.replay.seed) {
    command.add("--seed", std::to_string(options.replay.seed));
  }
  if (options.threads != usual.threads) command.add("--threads", std::to_string(options.threads));
  if (options.jit_compile) command.add_flag("-j");
}

}  // namespace msprobe::engines
