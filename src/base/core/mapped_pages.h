// SPDX-License-Identifier: Apache-2.0
// Pages of a mapped file in memory, for as long as they are needed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace msprobe {

// As load_file, but files that are not empty are mapped, small ones too.
Result<FileBytes> map_file(const std::filesystem::path& path);

// What is brought in is given back at the end, so that the part that is worked on stays resident,
// not the whole file. Of files that are not mapped, and of small ones, nothing is given back.
class MappedPages {
 public:
  MappedPages() = default;
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;
  ~MappedPages();

  // Maps the pages of `part` in one call. `is_last`: no further part of the file follows.
  void bring(const FileBytes& file, std::span<const std::byte> part, bool is_last);
  // For parts that come from anywhere in the file: only gives back.
  void give_back(const FileBytes& file);

 private:
  std::vector<std::span<const std::byte>> mapped_;
};

}  // namespace msprobe
