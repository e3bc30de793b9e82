// SPDX-License-Identifier: Apache-2.0
// Engine options as given on the command line; also used to build the engine's argv and the rerun
// command.
#pragma once

#include <string>

#include "core/call_command.h"
#include "core/replay_settings.h"
#include "engines/engine_process.h"

namespace msprobe::engines {

struct EngineOptions {
  std::string program;  // msprobe-engine; as the user names it, until it is found
  std::string reference = {}, kernel = {};  // files of Python functions of the user's; empty: none
  std::string device_library;               // of an out-of-tree back end; empty: none
  std::string sim_profile;                  // arithmetic of the simulated device; empty: exact
  std::string sim_config;                   // file of its faults; empty: none
  std::string sim_log;  // file in which it writes down what it gave; empty: none
  bool jit_compile = false;
  int threads = 1;
  ReplaySettings replay;  // as far as the user decides: the seed and the flags

  bool is_for_sim() const { return !(sim_profile.empty() && sim_config.empty()); }
};

EngineCommand command_of(const EngineOptions& options, const std::string& device);

// As msprobe is given them again: --sim-profile tf32; the flags of a check, --hf32; and what
// differs from the defaults of --seed 7 --threads 4 -j.
void add_device(CallCommand& command, const EngineOptions& options);
void add_flags(CallCommand& command, const EngineOptions& options);
void add_run(CallCommand& command, const EngineOptions& options);

}  // namespace msprobe::engines
