// SPDX-License-Identifier: Apache-2.0
// What run_ut shows when it ends: how many calls pass, and in which direction the others fail.
#pragma once

#include <filesystem>
#include <string>

namespace msprobe::app {

// From the result CSV; empty where it cannot be read.
std::string older_tables(const std::filesystem::path& result_csv);

}  // namespace msprobe::app
