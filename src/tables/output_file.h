// SPDX-License-Identifier: Apache-2.0
// A file that appears under its name only when it is complete.
#pragma once

#include <filesystem>
#include <future>
#include <string>
#include <string_view>

#include "core/result.h"

namespace msprobe::tables {

// Collects bytes in `path`.partial; commit() gives it its name. Without commit the partial file is
// removed. A full buffer is written by another thread while the next one is filled; an error of it
// is returned by the call after.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // The bytes to come are appended here; flush_if_full() after each record keeps it small.
  std::string& buffer() { return buffer_; }
  Result<void> flush_if_full();
  Result<void> commit();

 private:
  OutputFile(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  Result<void> finish_writing();
  void discard();

  std::filesystem::path path_;
  int fd_ = -1;
  std::string buffer_;
  std::future<Result<std::string>> writing_;  // returns the memory of what it wrote
};

// `stem`, or with a number behind it if an earlier run of the same second has its tables.
std::string free_stem(const std::filesystem::path& directory, const std::string& stem);

}  // namespace msprobe::tables
