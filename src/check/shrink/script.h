// SPDX-License-Identifier: Apache-2.0
// A call as a short Python script that needs nothing but PyTorch: the one result that is wrong, on
// the device and in float64 on the CPU. It ends with 1 if the two disagree, with 0 if they agree,
// and with 2 if it cannot run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "dump/call_record.h"
#include "protocol/measured_call.h"
#include "shrink/probe.h"
#include "shrink/script.h"

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

// |found - right| <= relative * |right| + absolute
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// Room for the rounding of the device's dtype, and for half of what the worst element of `device`
// is off beyond that, at most 16 eps of the largest element of `bench`: what msprobe saw is wrong,
// a right device is not. Both are files of tensors.
Result<Tolerance> tolerance_of(const std::filesystem::path& device,
                               const std::filesystem::path& bench);

// A saved tensor as a Python expression, written out if it is small or all alike, else loaded:
// "torch.ones(17, 1)", "torch.tensor([1, 2])", "torch.load(here / 'tensors' / 'x.pt')". `file`: its
// name in `data`, `folder`: how the script names that folder. With `with_gradient`, what requires
// grad does so there too.
std::string tensor_text(const dump::TensorRecord& record, const Directory& data,
                        const std::string& folder, const std::string& file, bool with_gradient);

// A call of a MindSpore dump as a Python script: runs with MindSpore, or PyTorch where that was the
// device; judges the saved results where neither can be had.
// `data`: the folder, beside the script, in which the engine saved the call's tensors as .npy
// files. `measured`: what the engine found; names the wrong results.
std::string mindspore_script(const dump::CallRecord& call, const std::filesystem::path& data,
                             const ScriptDevice& device, const protocol::MeasuredCall& measured,
                             const std::string& finding);

}  // namespace msprobe::shrink
