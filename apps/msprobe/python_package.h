// SPDX-License-Identifier: Apache-2.0
// Checks whose Python package lies beside this program. The public package mindstudio-probe has the
// same import name and the same command; pip lets one overwrite the files of the other.
#pragma once

#include <filesystem>
#include <string>

namespace msprobe::app {

// Lines for --version; empty where there is no package.
std::string describe_python_package(const std::filesystem::path& program);

}  // namespace msprobe::app
