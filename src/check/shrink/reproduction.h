// SPDX-License-Identifier: Apache-2.0
// The files of a call that is reproduced: its dump, its script and what they need.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "dump/call_record.h"
#include "shrink/probe.h"
#include "shrink/recorded_call.h"
#include "shrink/script.h"
#include "shrink/shrink_call.h"

namespace msprobe::shrink {

// Makes `out` ready: what an earlier reproduction left there is removed. An error if another dump
// is there, above all the one that the call comes from.
Result<std::filesystem::path> claim_directory(const std::string& out);

struct Reproduction {
  std::filesystem::path script;
  ProbeAnswer answer;  // what was found in this form
};

// Writes `call` into `out`, and removes the tensors of a form that was there before.
Result<Reproduction> write_reproduction(const ShrinkOptions& options, const RecordedCall& recorded,
                                        const std::filesystem::path& out, Probe& probe,
                                        dump::CallRecord call);

// Writes the script of a reproduction again, in another form.
Result<void> write_script(const ShrinkOptions& options, const RecordedCall& recorded,
                          const dump::CallRecord& call, const Reproduction& reproduction,
                          ScriptForm form);

}  // namespace msprobe::shrink
