// SPDX-License-Identifier: Apache-2.0
// Files as bytes: whole, mapped, or opened inside a directory they must not leave.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace msprobe {

// The bytes of a file, kept alive by `owner`.
struct FileBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  bool mapped = false;

  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // Says that the first `count` bytes are done with: a mapping gives their memory back (and would
  // read the file again if they were touched after all).
  void forget(std::size_t count) const;
};

// From this size on a file is mapped: below it, one read is cheaper than page faults.
inline constexpr std::size_t kMapFrom = std::size_t{256} << 10;

// Reads small files into memory and maps large ones; regular files only. `max_bytes` is refused
// before anything is read.
Result<FileBytes> load_file(const std::filesystem::path& path, std::size_t max_bytes = SIZE_MAX);

// A directory whose files are opened by plain names from a dump. A name that is absolute, climbs
// with "..", or leads through a link out of the directory is an error of kind kHostile, and nothing
// outside the directory is opened.
class Directory {
 public:
  static Result<Directory> open(const std::filesystem::path& path);
  Directory(Directory&& other) noexcept;
  Directory& operator=(Directory&& other) noexcept;
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory();

  // `map_from`: a file of at least this size is mapped.
  Result<FileBytes> load(std::string_view name, std::size_t max_bytes = SIZE_MAX,
                         std::size_t map_from = kMapFrom) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  Directory(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace msprobe
