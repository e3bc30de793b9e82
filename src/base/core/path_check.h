// SPDX-License-Identifier: Apache-2.0
// The documented rules a path given by the user must meet, checked in the documented order.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.h"

namespace msprobe {

struct InputFileRules {
  std::string_view suffix;  // ".json", ".csv"; empty: any
  bool writable = false;
};

// Exists, length, is a file, access, no control characters, size by kind, suffix. Returns
// the resolved path.
Result<std::filesystem::path> check_input_file(const std::filesystem::path& path,
                                               const InputFileRules& rules);

// The same for a directory to read from: exists, length, is a directory, access, characters.
Result<std::filesystem::path> check_input_directory(const std::filesystem::path& path);

// Makes the directory with its parents (at most 16 new levels) and checks that it can be written.
// Returns the resolved path.
Result<std::filesystem::path> prepare_output_directory(const std::filesystem::path& path);

}  // namespace msprobe
