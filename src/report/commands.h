// SPDX-License-Identifier: Apache-2.0
// Commands that a reader of a result can copy.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace msprobe::report {

// The same command with absolute paths, so that it works in any directory. `base` is the directory
// in which it was given.
std::string from_anywhere(std::string_view command, const std::filesystem::path& base);

// "msprobe shrink ... --only" made of the re-run command of a check; empty if that is not one.
std::string shrink_command(std::string_view rerun);

}  // namespace msprobe::report
