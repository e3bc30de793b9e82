// SPDX-License-Identifier: Apache-2.0
// The files of two dumps, each opened once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace msprobe::torchair {

// Keeps every file it has loaded. Small files are read into memory up to a limit, all others are
// mapped: what stays resident does not grow with the dump.
class DumpFiles {
 public:
  // Any number of threads may load files. A file that cannot be loaded is not tried again.
  Result<FileBytes> load(const std::filesystem::path& path);

  // Messages about files that could not be read, each kept once.
  void note_unread(std::string text);
  std::vector<std::string> take_unread() { return std::exchange(unread_, {}); }

  // Forgets the files of a directory.
  void leave(const std::filesystem::path& directory);

 private:
  static constexpr std::size_t kMostRead = std::size_t{256} << 20;  // bytes of files in memory
  static constexpr std::size_t kMostMapped = 30'000;  // half of what Linux lets a process map

  std::mutex mutex_;
  std::map<std::filesystem::path, Result<FileBytes>> files_;
  std::size_t read_ = 0;
  std::size_t mapped_ = 0;
  std::vector<std::string> unread_;
};

}  // namespace msprobe::torchair
