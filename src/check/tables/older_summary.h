// SPDX-License-Identifier: Apache-2.0
// The summary that run_ut shows when it ends: calls that pass, and the direction in which the
// others fail.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"

namespace msprobe::tables {

// From the result CSV; empty if it cannot be read.
Result<std::string> older_summary(const std::filesystem::path& result_csv, bool colour);

}  // namespace msprobe::tables
