// SPDX-License-Identifier: Apache-2.0
// A call of a MindSpore dump as a Python script: runs with MindSpore, or PyTorch where that was the
// device; judges the saved results where neither can be had.
#pragma once

#include <filesystem>
#include <string>

#include "dump/call_record.h"
#include "protocol/measured_call.h"
#include "shrink/script.h"

namespace msprobe::shrink {

// `data`: the folder, beside the script, in which the engine saved the call's tensors as .npy
// files. `measured`: what the engine found; names the wrong results.
std::string mindspore_script(const dump::CallRecord& call, const std::filesystem::path& data,
                             const ScriptDevice& device, const protocol::MeasuredCall& measured,
                             const std::string& finding);

}  // namespace msprobe::shrink
