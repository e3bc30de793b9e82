// SPDX-License-Identifier: Apache-2.0
// A file that appears under its name only when it is complete.
#pragma once

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "core/new_file.h"
#include "core/result.h"

namespace msprobe::tables {

// A NewFile (core/new_file.h) that collects what is written to it. A full buffer is written by
// another thread while the next one is filled; an error of it is returned by the call after.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept = default;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // The bytes to come are appended here; flush_if_full() after each record keeps it small.
  std::string& buffer() { return buffer_; }
  Result<void> flush_if_full();
  Result<void> commit();

  explicit OutputFile(NewFile file) : file_(std::make_unique<NewFile>(std::move(file))) {}

 private:
  Result<void> finish_writing();

  std::unique_ptr<NewFile> file_;  // the other thread knows where it is
  std::string buffer_;
  std::future<Result<std::string>> writing_;  // returns the memory of what it wrote
};

struct FreeOutput {
  OutputFile file;
  std::string number;  // what was put behind the stem: "", "_2", ...
};
// The file `directory`/`stem``suffix`, with a number behind the stem if another run of the same
// second has that name, or `also` of the same number.
Result<FreeOutput> create_free(const std::filesystem::path& directory, const std::string& stem,
                               const std::string& suffix, const std::string& also = {});

}  // namespace msprobe::tables
