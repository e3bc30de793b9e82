#include "collect/growing_json.h"

#include <cstdio>
#include <span>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "collect/io_failure.h"

namespace msprobe::collect {
namespace {

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

bool read_all(int fd, std::span<char> text, std::uint64_t offset) {
  while (!text.empty()) {
    const ssize_t read = ::pread(fd, text.data(), text.size(), static_cast<off_t>(offset));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return false;
    text = text.subspan(static_cast<std::size_t>(read));
    offset += static_cast<std::uint64_t>(read);
  }
  return true;
}

}  // namespace

Result<GrowingJson> GrowingJson::create(const std::string& path, std::string head,
                                        std::string tail) {
  // Not O_TRUNC: a file of an earlier run is replaced by a complete one.
  const Result<void> replaced = replace_file(path, head + tail);
  if (!replaced) return propagate(replaced);
  Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return io_failure(path);
  return GrowingJson(path, std::move(file), head.size(), std::move(tail));
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
  if (!written) {
    static_cast<void>(write(tail_));  // over bytes that the file has already
    return written;
  }
  offset_ += kept;
  if (!finished.empty()) empty_ = false;
  return {};
}

Result<void> GrowingJson::write(std::string_view text) {
  const std::uint64_t length = offset_ + text.size();
  const std::uint64_t earlier = std::exchange(length_, length);
  if (!write_all(file_.get(), text, offset_)) {
    length_ = UINT64_MAX;  // a part of it may be there
    return io_failure(path_);
  }
  if (length < earlier && ::ftruncate(file_.get(), static_cast<off_t>(length)) != 0) {
    return io_failure(path_);
  }
  return {};
}

Result<void> GrowingJson::move_to(const std::string& path, const std::string& head) {
  std::string entries(offset_ - head_, '\0');
  if (!read_all(file_.get(), entries, head_)) return io_failure(path_);
  Result<GrowingJson> moved = create(path, head + entries, tail_);
  if (!moved) return propagate(moved);
  moved->head_ = head.size();
  moved->empty_ = empty_;
  *this = std::move(*moved);
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
