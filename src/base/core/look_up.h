// SPDX-License-Identifier: Apache-2.0
// What is at a path. An error of the disk, and a directory that this user may not read, are errors
// here: neither the end of a list nor a name that nothing has.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.h"

namespace msprobe {

using DirectoryEntries = std::vector<std::filesystem::directory_entry>;

// Everything in it, sorted by name.
Result<DirectoryEntries> list_directory(const std::filesystem::path& directory);

// False: nothing has that name.
Result<bool> is_there(const std::filesystem::path& path);

}  // namespace msprobe
