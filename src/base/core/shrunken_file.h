// SPDX-License-Identifier: Apache-2.0
// Files that get smaller while they are mapped, or on a disk that fails.
#pragma once

#include <filesystem>

#include "core/file.h"

namespace msprobe {

// Reading a mapped file behind its new end, or where the disk fails, sends SIGBUS, which ends the
// process. From this call on what is lost reads as zeros; callers check has_shrunk() after reading.
void install_sigbus_handler();

// Whether the file at `path`, from which `file` was loaded, is smaller by now, or a part of it read
// as zeros because it was smaller for a while or the disk failed. False if it was deleted: its
// content stays as long as it is mapped.
bool has_shrunk(const std::filesystem::path& path, const FileBytes& file);

// For whoever ends a mapping: the next one may be at the same place.
void forget_lost_pages(const void* mapping, std::size_t size);

}  // namespace msprobe
