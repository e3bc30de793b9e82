#include "collect/growing_json.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace msprobe::collect {
namespace {

Failure io_failure(const std::string& path) {
  return fail(ErrorKind::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
}

bool write_all(int fd, std::string_view text, std::uint64_t offset) {
  while (!text.empty()) {
    const ssize_t written = ::pwrite(fd, text.data(), text.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return true;
}

}  // namespace

Result<GrowingJson> GrowingJson::create(const std::string& path, std::string head,
                                        std::string tail) {
  // Not O_TRUNC: a file of an earlier run is replaced by a complete one.
  const Result<void> replaced = replace_file(path, head + tail);
  if (!replaced) return propagate(replaced);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return io_failure(path);
  GrowingJson file(path, fd, std::move(tail));
  file.offset_ = head.size();
  file.length_ = head.size() + file.tail_.size();
  return file;
}

GrowingJson::GrowingJson(GrowingJson&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      tail_(std::move(other.tail_)),
      offset_(other.offset_),
      length_(other.length_),
      empty_(other.empty_) {}

GrowingJson& GrowingJson::operator=(GrowingJson&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(tail_, other.tail_);
  std::swap(offset_, other.offset_);
  std::swap(length_, other.length_);
  std::swap(empty_, other.empty_);
  return *this;
}

GrowingJson::~GrowingJson() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> GrowingJson::append(std::string_view finished, std::string_view unfinished) {
  std::string text;
  text.reserve(finished.size() + unfinished.size() + tail_.size());
  text += finished;
  text += unfinished;
  // The first entry has no separator in front of it.
  const std::size_t comma = empty_ && !text.empty() ? 1 : 0;
  const std::size_t kept = finished.empty() ? 0 : finished.size() - comma;
  const Result<void> written = write(text.substr(comma) + tail_);
  if (!written) return written;
  offset_ += kept;
  if (!finished.empty()) empty_ = false;
  return {};
}

Result<void> GrowingJson::write(std::string_view text) {
  const std::uint64_t length = offset_ + text.size();
  if (!write_all(fd_, text, offset_)) return io_failure(path_);
  if (length < length_ && ::ftruncate(fd_, static_cast<off_t>(length)) != 0) {
    return io_failure(path_);
  }
  length_ = length;
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".new";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd < 0) return io_failure(temporary);
  const bool written = write_all(fd, text, 0);
  if (::close(fd) != 0 || !written) return io_failure(temporary);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return io_failure(path);
  return {};
}

}  // namespace msprobe::collect
