// SPDX-License-Identifier: Apache-2.0
#include "core/look_up.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

namespace msprobe {

namespace fs = std::filesystem;

Result<DirectoryEntries> list_directory(const fs::path& directory) {
  DirectoryEntries found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    found.push_back(*entry);
  }
  if (error) {
    return fail(ErrorKind::kIo, fmt::format("{}: cannot list the directory: {}", directory.string(),
                                            error.message()));
  }
  std::ranges::sort(found);
  return found;
}

Result<bool> is_there(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (status.type() != fs::file_type::none) return true;
  return fail(ErrorKind::kIo, fmt::format("{}: cannot access: {}", path.string(), error.message()));
}

}  // namespace msprobe
