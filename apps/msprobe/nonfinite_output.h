// SPDX-License-Identifier: Apache-2.0
// The walk for NaN and infinities, shown to a person or a program: `compare --nan` and
// `run_overflow_check --provenance` say the same.
#pragma once

#include <string>

#include "exit_status.h"

namespace msprobe::app {

// `path` as divergence::find_nonfinite takes it, `json` as declare_json does. Failed: some call
// turned finite inputs into something else.
ExitStatus show_nonfinite(const std::string& path, const std::string& json);

}  // namespace msprobe::app
