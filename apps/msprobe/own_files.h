// SPDX-License-Identifier: Apache-2.0
// Finds the files that belong to this program: itself, its engine, and what the environment names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"

namespace msprobe::app {

std::filesystem::path this_program();

// Empty if the variable is not set, or empty.
std::optional<std::filesystem::path> from_environment(const char* name);

// --engine, else $MSPROBE_ENGINE, else the one beside this program.
Result<std::filesystem::path> find_own_engine(const std::string& option);

}  // namespace msprobe::app
