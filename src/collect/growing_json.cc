#include "collect/growing_json.h"

#include <cstdio>
#include <span>
#include <utility>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
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
  text.reserve(behind_.size() + finished.size() + unfinished.size() + tail_.size());
  text += finished;
  text += unfinished;
  // The first entry has no separator in front of it.
  if (empty_ && !text.empty()) text.erase(0, 1);
  const std::string_view added =
      std::string_view(text).substr(0, finished.empty() ? 0 : finished.size() - (empty_ ? 1 : 0));
  const auto keep = [&](Copy& copy) {
    copy.offset += added.size();
    if (!finished.empty()) empty_ = false;
  };
  if (has_spare() && write(spare_, behind_ + text + tail_) && exchange()) {
    seen_.offset += behind_.size();
    keep(seen_);
    behind_ = added;
    return {};
  }
  settle();
  is_in_place_ = true;
  Result<void> written = write(seen_, text + tail_);
  if (!written) {
    static_cast<void>(write(seen_, tail_));  // over bytes that the file has already
    return written;
  }
  keep(seen_);
  return {};
}

// The second file, with all that is finished in the first one.
bool GrowingJson::has_spare() {
  if (is_in_place_) return false;
  if (spare_.file) return true;
  Descriptor file(::open(spare_path().c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
  std::string entries(seen_.offset, '\0');
  if (!file || !read_all(seen_.file.get(), entries, 0) || !write_all(file.get(), entries, 0)) {
    return false;
  }
  spare_ = {std::move(file), seen_.offset, seen_.offset};
  behind_.clear();
  return true;
}

bool GrowingJson::exchange() {
  const long exchanged = ::syscall(SYS_renameat2, AT_FDCWD, spare_path().c_str(), AT_FDCWD,
                                   path_.c_str(), RENAME_EXCHANGE);
  if (exchanged == 0) std::swap(seen_, spare_);
  return exchanged == 0;
}

void GrowingJson::settle() {
  if (!is_in_place_) ::unlink(spare_path().c_str());
  spare_ = {};
  behind_.clear();
}

Result<void> GrowingJson::write(Copy& copy, std::string_view text) const {
  const std::uint64_t length = copy.offset + text.size();
  const std::uint64_t earlier = std::exchange(copy.length, length);
  if (!write_all(copy.file.get(), text, copy.offset)) {
    copy.length = UINT64_MAX;  // a part of it may be there
    return io_failure(path_);
  }
  if (length < earlier && ::ftruncate(copy.file.get(), static_cast<off_t>(length)) != 0) {
    return io_failure(path_);
  }
  return {};
}

Result<void> GrowingJson::move_to(const std::string& path, const std::string& head) {
  std::string entries(seen_.offset - head_, '\0');
  if (!read_all(seen_.file.get(), entries, head_)) return io_failure(path_);
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
