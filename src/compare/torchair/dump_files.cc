// SPDX-License-Identifier: Apache-2.0
#include "torchair/dump_files.h"

#include <algorithm>

#include "core/mapped_pages.h"

namespace msprobe::torchair {

Result<FileBytes> DumpFiles::load(const std::filesystem::path& path) {
  bool reads_small = true;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = files_.find(path); known != files_.end()) return known->second;
    reads_small = read_ < kMostRead || mapped_ >= kMostMapped;
  }
  Result<FileBytes> file = reads_small ? load_file(path) : map_file(path);
  const std::lock_guard lock(mutex_);
  if (file) (file->mapped ? mapped_ : read_) += file->mapped ? 1 : file->bytes.size();
  return files_.emplace(path, std::move(file)).first->second;
}

void DumpFiles::note_unread(std::string text) {
  if (std::ranges::find(unread_, text) == unread_.end()) unread_.push_back(std::move(text));
}

void DumpFiles::leave(const std::filesystem::path& directory) {
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [&](const auto& known) {
    const auto& [path, file] = known;
    if (path.parent_path() != directory) return false;
    if (file) (file->mapped ? mapped_ : read_) -= file->mapped ? 1 : file->bytes.size();
    return true;
  });
}

}  // namespace msprobe::torchair
