// SPDX-License-Identifier: Apache-2.0
#include "engines/engine_options.h"

#include <utility>
#include <vector>

#include "core/shell_words.h"

namespace msprobe::engines {
namespace {

using Named = std::vector<std::pair<std::string, std::string>>;

Named device_options(const EngineOptions& options) {
  Named all;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) all.emplace_back(name, value);
  };
  add("--device-lib", options.device_library);
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

std::string device_text(const EngineOptions& options) {
  std::string text;
  for (const auto& [name, value] : device_options(options))
    text += " " + name + " " + shell_word(value);
  return text;
}

std::string run_text(const EngineOptions& options) {
  const EngineOptions usual;
  std::string text;
  if (options.seed != usual.seed) text += " --seed " + std::to_string(options.seed);
  if (options.threads != usual.threads) text += " --threads " + std::to_string(options.threads);
  if (options.jit_compile) text += " -j";
  return text;
}

}  // namespace msprobe::engines
