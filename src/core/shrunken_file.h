// SPDX-License-Identifier: Apache-2.0
// Files that get smaller while they are mapped.
#pragma once

#include <filesystem>

#include "core/file.h"

namespace msprobe {

// Reading a mapped file behind its new end sends SIGBUS, which ends the process. From this call on
// what was lost reads as zeros; who has read asks has_shrunk().
void survive_shrinking_files();

// Whether the file at `path`, of which `file` was loaded, is smaller by now. One that is gone is
// not: its content stays as long as it is mapped.
bool has_shrunk(const std::filesystem::path& path, const FileBytes& file);

}  // namespace msprobe
