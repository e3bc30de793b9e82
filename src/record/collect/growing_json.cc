// SPDX-License-Identifier: Apache-2.0
#include "collect/growing_json.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <utility>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/io_failure.h"
#include "core/new_file.h"

namespace msprobe::collect {
namespace {

// Changes `parts`.
bool write_all(int fd, std::span<iovec> parts, std::uint64_t offset) {
  while (!parts.empty()) {
    const ssize_t written =
        ::pwritev(fd, parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    offset += static_cast<std::uint64_t>(written);
    auto left = static_cast<std::size_t>(written);
    while (!parts.empty() && left >= parts.front().iov_len) {
      left -= parts.front().iov_len;
      parts = parts.subspan(1);
    }
    if (parts.empty()) break;
    parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + left;
    parts.front().iov_len -= left;
  }
  return true;
}

iovec as_iovec(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

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

bool exchange_names(const std::string& path, const std::string& other) {
  return ::syscall(SYS_renameat2, AT_FDCWD, path.c_str(), AT_FDCWD, other.c_str(),
                   RENAME_EXCHANGE) == 0;
}

}  // namespace

Result<GrowingJson> GrowingJson::create(const std::string& path, std::string head,
                                        std::string tail) {
  // Not O_TRUNC: a file of an earlier run is replaced by a complete one.
  const Result<void> replaced = replace_file(path, head + tail);
  if (!replaced) return propagate(replaced);
  Descriptor file = reopen_in_place(path, Reading::kYes, Writing::kAnywhere);
  if (!file) return io_failure(path);
  return GrowingJson(path, std::move(file), head.size(), std::move(tail));
}

Result<void> GrowingJson::append(std::string_view finished, std::string_view unfinished) {
  // The first entry has no separator in front of it.
  if (empty_ && !finished.empty()) {
    finished.remove_prefix(1);
  } else if (empty_ && !unfinished.empty()) {
    unfinished.remove_prefix(1);
  }
  const auto keep = [&] {
    seen_.offset += finished.size();
    if (!finished.empty()) empty_ = false;
  };
  if (!is_in_place_ && append_beside(finished, unfinished)) {
    keep();
    return {};
  }
  settle();
  is_in_place_ = true;
  Result<void> written = write(seen_, {"", finished, unfinished, tail_});
  if (!written) {
    static_cast<void>(write(seen_, {"", "", "", tail_}));  // over bytes that the file has already
    return written;
  }
  keep();
  return {};
}

// Into the second file, behind the entries that it lacks, which then takes the place of the first.
bool GrowingJson::append_beside(std::string_view finished, std::string_view unfinished) {
  if (!spare_.file) {
    spare_ = {replace_in_place(spare_path(), Reading::kYes)};
  }
  std::string behind(seen_.offset - spare_.offset, '\0');
  if (!spare_.file || !read_all(seen_.file.get(), behind, spare_.offset) ||
      !write(spare_, {behind, finished, unfinished, tail_}) ||
      !exchange_names(spare_path(), path_)) {
    return false;
  }
  spare_.offset = seen_.offset;
  std::swap(seen_, spare_);
  return true;
}

void GrowingJson::settle() {
  if (spare_.file) ::unlink(spare_path().c_str());
  spare_ = {};
}

Result<void> GrowingJson::write(Copy& copy, const std::array<std::string_view, 4>& text) const {
  std::array<iovec, 4> parts;
  std::ranges::transform(text, parts.begin(), as_iovec);
  std::uint64_t length = copy.offset;
  for (const std::string_view one : text) length += one.size();
  const std::uint64_t earlier = std::exchange(copy.length, length);
  if (!write_all(copy.file.get(), parts, copy.offset)) {
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
  const auto failed = [&](const std::string& shown) {
    const Failure failure = io_failure(shown);
    ::unlink(temporary.c_str());
    return failure;
  };
  Descriptor file = replace_in_place(temporary);
  if (!file) return io_failure(temporary);
  if (!write_fully(file.get(), text) || !file.close()) return failed(temporary);
  // Exchanged names: ext4 sends what is renamed over a file to the disk at once, which costs more
  // than all the rest.
  if (exchange_names(temporary, path)) {
    ::unlink(temporary.c_str());
  } else if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    return failed(path);
  }
  return {};
}

}  // namespace msprobe::collect
