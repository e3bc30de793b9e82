// SPDX-License-Identifier: Apache-2.0
// Runs a new script in the user's Python, before shrink names it.
#pragma once

#include <filesystem>
#include <string>

namespace msprobe::shrink {

struct ScriptRun {
  enum class End : std::uint8_t {
    kDisagrees,  // status 1
    kAgrees,     // status 0
    kRaised,     // status 2, in the call
    kCannotRun,  // no such Python, no PyTorch in it, no such device
    kDied,       // of a signal
    kHung        // no end in time
  };
  End end = End::kCannotRun;
  std::string said;  // the line that matters: the count of wrong elements, or the exception
};

ScriptRun run_script(const std::filesystem::path& script, double timeout_seconds);

// What a script that ended so wrote, in one line.
ScriptRun script_run_of(int wait_status, const std::string& output);

}  // namespace msprobe::shrink
