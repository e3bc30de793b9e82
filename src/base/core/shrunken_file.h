// SPDX-License-Identifier: Apache-2.0
// Files that get smaller while they are mapped.
#pragma once

#include <filesystem>

#include "core/file.h"

namespace msprobe {

// Reading a mapped file behind its new end sends SIGBUS, which ends the process. From this call on
// the lost part reads as zeros; callers check has_shrunk() after reading.
void install_sigbus_handler();

// Whether the file at `path`, from which `file` was loaded, is smaller by now. False if it was
// deleted: its content stays as long as it is mapped.
bool has_shrunk(const std::filesystem::path& path, const FileBytes& file);

}  // namespace msprobe
