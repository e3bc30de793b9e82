// SPDX-License-Identifier: Apache-2.0
#include "tables/output_file.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace msprobe::tables {
namespace {

constexpr std::size_t kFull = std::size_t{1} << 20;

}  // namespace

Result<OutputFile> OutputFile::create(const std::filesystem::path& path) {
  Result<NewFile> file = NewFile::create(path);
  if (!file) return propagate(file);
  return OutputFile(*std::move(file));
}

// What is still being written goes to the file of before.
OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (writing_.valid()) writing_.wait();
  file_ = std::move(other.file_);
  buffer_ = std::move(other.buffer_);
  writing_ = std::move(other.writing_);
  return *this;
}

OutputFile::~OutputFile() {
  if (writing_.valid()) writing_.wait();
}

// Leaves an empty buffer with the memory of the one that was written.
Result<void> OutputFile::finish_writing() {
  std::string written;
  if (writing_.valid()) {
    Result<std::string> done = writing_.get();
    if (!done) return propagate(done);
    written = *std::move(done);
  }
  written.clear();
  buffer_.swap(written);
  return {};
}

Result<void> OutputFile::flush_if_full() {
  if (buffer_.size() < kFull) return {};
  std::string full = std::move(buffer_);
  if (const auto done = finish_writing(); !done) return done;
  writing_ =
      std::async(std::launch::async, [file = file_.get(), bytes = std::move(full)]() mutable {
        const Result<void> written = file->write(bytes);
        return written ? Result<std::string>(std::move(bytes))
                       : Result<std::string>(propagate(written));
      });
  return {};
}

Result<void> OutputFile::commit() {
  const std::string rest = std::move(buffer_);
  if (const auto done = finish_writing(); !done) return done;
  if (const auto done = file_->write(rest); !done) return done;
  return file_->commit();
}

Result<FreeOutput> create_free(const std::filesystem::path& directory, const std::string& stem,
                               const std::string& suffix, const std::string& also) {
  std::error_code error;
  for (int count = 1;; ++count) {
    const std::string number = count == 1 ? "" : fmt::format("_{}", count);
    Result<std::optional<NewFile>> file =
        NewFile::create_if_free(directory / (stem + number + suffix));
    if (!file) return propagate(file);
    if (!*file) continue;
    if (!also.empty() && std::filesystem::exists(directory / (stem + number + also), error)) {
      continue;
    }
    return FreeOutput{OutputFile(**std::move(file)), number};
  }
}

}  // namespace msprobe::tables
