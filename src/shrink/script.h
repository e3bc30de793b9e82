// SPDX-License-Identifier: Apache-2.0
// A call as a short Python script that needs nothing but PyTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"
#include "dump/call_record.h"
#include "protocol/measured_call.h"

namespace msprobe::shrink {

struct ScriptDevice {
  std::string name;         // "sim:0"
  std::string library;      // of an out-of-tree back end; empty: none
  std::string sim_profile;  // of the simulated device
  bool sim_config = false;  // there is a sim.yaml beside the script
  std::uint64_t seed = 0;   // of random operators
};

// `data`: the folder in which the engine saved the call's tensors. Small ones are written into the
// script, the others are loaded from there; `data` must be beside the script. `measured`: what was
// wrong, `finding`: that in words.
Result<std::string> python_script(const dump::CallRecord& call, const std::filesystem::path& data,
                                  const ScriptDevice& device,
                                  const protocol::MeasuredCall& measured,
                                  const std::string& finding);

// The lines that make PyTorch know the device; they need `os`, `types`, `torch` and `here`.
std::string device_lines(const ScriptDevice& device, const std::string& indent);

// The lines that end the process with 1 where the variable `failed` is true, else with 0; they need
// `os` and `sys`.
std::string_view exit_lines();

// "Functional.linear.0" -> "torch.nn.functional.linear".
std::string python_name(const std::string& full_name);

}  // namespace msprobe::shrink
