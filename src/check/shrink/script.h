// SPDX-License-Identifier: Apache-2.0
// A call as a short Python script that needs nothing but PyTorch: the one result that is wrong, on
// the device and in float64 on the CPU. It ends with 1 if the two disagree, with 0 if they agree,
// and with 2 if it cannot run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"
#include "dump/call_record.h"
#include "shrink/probe.h"

namespace msprobe::shrink {

struct ScriptDevice {
  std::string name;         // "sim:0"
  std::string library;      // of an out-of-tree back end; empty: none
  std::string sim_profile;  // of the simulated device
  bool sim_config = false;  // there is a sim.yaml beside the script
  std::uint64_t seed = 0;   // of random operators
};

// How a call is written. Few need more than the first.
enum class ScriptForm : std::uint8_t {
  kShort,      // as a person would write it
  kCareful,    // arguments are copied, results may be nested
  kSavedBench  // the same, and the right result is the one that the engine saved
};

// `data`: the folder in which the engine saved the call's tensors. Small ones are written into the
// script, the others are loaded from there; `data` must be beside the script.
Result<std::string> python_script(const dump::CallRecord& call, const std::filesystem::path& data,
                                  const ScriptDevice& device, const ProbeAnswer& answer,
                                  ScriptForm form);

// The lines that make PyTorch know the device; they need `os`, `sys`, `types`, `torch` and `here`.
std::string device_lines(const ScriptDevice& device, const std::string& indent);

// The first lines of a script, and its name: what it shows, on which device, what was found.
std::string script_head(const std::string& what, const ScriptDevice& device,
                        const std::string& against, const std::string& finding);

// The line that ends the process with 2 after an exception; it needs `os`, `sys` and `traceback`.
std::string_view exception_line();

// The lines that end the process with 1 where `failed` is true, else with 0; they need `os` and
// `sys`.
std::string exit_lines(std::string_view failed);

}  // namespace msprobe::shrink
