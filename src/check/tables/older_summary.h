// SPDX-License-Identifier: Apache-2.0
// What run_ut shows when it ends: how many calls pass, and in which direction the others fail.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"

namespace msprobe::tables {

// From the result CSV; empty if it cannot be read.
Result<std::string> older_summary(const std::filesystem::path& result_csv, bool colour);

}  // namespace msprobe::tables
