// SPDX-License-Identifier: Apache-2.0
#include "tables/output_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace msprobe::tables {
namespace {

constexpr std::size_t kFull = std::size_t{1} << 20;

std::filesystem::path partial(const std::filesystem::path& path) {
  return path.string() + ".partial";
}

Failure failed(const std::filesystem::path& path, std::string_view doing) {
  return fail(ErrorKind::kIo,
              fmt::format("{}: cannot {}: {}", path.string(), doing, std::strerror(errno)));
}

Result<void> write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(partial(path), "write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::filesystem::path& path) {
  constexpr mode_t kOwnerWritesGroupReads = 0640;
  const int fd =
      ::open(partial(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
             kOwnerWritesGroupReads);
  if (fd < 0 && errno == ENOENT) {
    return fail(ErrorKind::kIo, fmt::format("{}: cannot be written: there is no directory {}",
                                            path.string(), path.parent_path().string()));
  }
  if (fd < 0) return failed(partial(path), "create");
  return OutputFile(path, fd);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      buffer_(std::move(other.buffer_)),
      writing_(std::move(other.writing_)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    fd_ = std::exchange(other.fd_, -1);
    buffer_ = std::move(other.buffer_);
    writing_ = std::move(other.writing_);
  }
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() {
  if (fd_ < 0) return;
  if (writing_.valid()) writing_.wait();
  ::close(std::exchange(fd_, -1));
  ::unlink(partial(path_).c_str());
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
      std::async(std::launch::async, [fd = fd_, path = path_, bytes = std::move(full)]() mutable {
        const Result<void> written = write_all(fd, bytes, path);
        return written ? Result<std::string>(std::move(bytes))
                       : Result<std::string>(propagate(written));
      });
  return {};
}

Result<void> OutputFile::commit() {
  const std::string rest = std::move(buffer_);
  if (const auto done = finish_writing(); !done) return done;
  if (const auto done = write_all(fd_, rest, path_); !done) return done;
  if (::rename(partial(path_).c_str(), path_.c_str()) != 0) return failed(path_, "rename to it");
  if (::close(std::exchange(fd_, -1)) != 0) return failed(path_, "close");
  return {};
}

std::string free_stem(const std::filesystem::path& directory, const std::string& stem) {
  std::string found = stem;
  for (int number = 2; std::filesystem::exists(directory / (found + ".csv")); ++number) {
    found = fmt::format("{}_{}", stem, number);
  }
  return found;
}

}  // namespace msprobe::tables
