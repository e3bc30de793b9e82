// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/aligned_memory.h"
#include "core/mapped_pages.h"
#include "core/open_beneath.h"
#include "core/shrunken_file.h"

namespace msprobe {
namespace {

std::string reason(int error) { return std::strerror(error); }

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Result<FileBytes> read_whole(int fd, std::size_t size, std::string_view shown) {
  const std::shared_ptr<std::byte[]> memory = aligned_memory(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd, memory.get() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return fail(ErrorKind::kIo, fmt::format("{}: cannot read: {}", shown, reason(errno)));
    if (got == 0) break;  // the file shrank: use what was read
    done += static_cast<std::size_t>(got);
  }
  return FileBytes{memory, {memory.get(), done}};
}

Result<FileBytes> load_open(int fd, std::size_t max_bytes, std::size_t map_from,
                            std::string_view shown) {
  const OpenFile file(fd);
  struct stat status{};
  if (::fstat(fd, &status) != 0) {
    return fail(ErrorKind::kIo, fmt::format("{}: cannot stat: {}", shown, reason(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::kIo, fmt::format("{}: not a regular file", shown));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > max_bytes) {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: {} bytes, more than the limit of {}", shown, size, max_bytes));
  }
  if (size < map_from) return read_whole(fd, size, shown);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) {
    return fail(ErrorKind::kIo, fmt::format("{}: cannot map: {}", shown, reason(errno)));
  }
  std::shared_ptr<const void> owner(address, [size](const void* mapped) {
    forget_lost_pages(mapped, size);
    ::munmap(const_cast<void*>(mapped), size);
  });
  return FileBytes{std::move(owner), {static_cast<const std::byte*>(address), size}, true};
}

Result<FileBytes> open_and_load(const std::filesystem::path& path, std::size_t max_bytes,
                                std::size_t map_from) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return fail(ErrorKind::kIo, fmt::format("{}: cannot open: {}", path.string(), reason(errno)));
  }
  return load_open(fd, max_bytes, map_from, path.string());
}

bool leaves_directory(std::string_view name) {
  const std::filesystem::path path(name);
  if (name.empty() || path.is_absolute()) return true;
  for (const auto& part : path) {
    if (part == "..") return true;
  }
  return name.find('\0') != std::string_view::npos;
}

}  // namespace

void FileBytes::forget(std::size_t count) const {
  if (!mapped) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t whole_pages = std::min(count, bytes.size()) / page * page;
  if (whole_pages == 0) return;
  // Only advice: where it fails, the memory stays until the mapping goes.
  (void)::madvise(const_cast<std::byte*>(bytes.data()), whole_pages, MADV_DONTNEED);
}

Result<FileBytes> load_file(const std::filesystem::path& path, std::size_t max_bytes) {
  return open_and_load(path, max_bytes, kMapFrom);
}

Result<FileBytes> map_file(const std::filesystem::path& path) {
  return open_and_load(path, SIZE_MAX, 1);
}

Result<Directory> Directory::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return fail(ErrorKind::kIo,
                fmt::format("{}: cannot open the directory: {}", path.string(), reason(errno)));
  }
  return Directory(path, fd);
}

Directory::Directory(Directory&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

Directory& Directory::operator=(Directory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

Directory::~Directory() {
  if (fd_ >= 0) ::close(fd_);
}

Result<FileBytes> Directory::load(std::string_view name, std::size_t max_bytes,
                                  std::size_t map_from) const {
  const std::string shown = fmt::format("{}/{}", path_.string(), name);
  if (leaves_directory(name)) {
    return fail(ErrorKind::kHostile,
                fmt::format("{}: the name leads out of the dump directory", shown));
  }
  const int fd = open_beneath(fd_, std::string(name));
  if (fd < 0) {
    const int error = errno;
    if (error == EXDEV || error == ELOOP) {
      return fail(ErrorKind::kHostile,
                  fmt::format("{}: a link leads out of the dump directory", shown));
    }
    return fail(ErrorKind::kIo, fmt::format("{}: cannot open: {}", shown, reason(error)));
  }
  return load_open(fd, max_bytes, map_from, shown);
}

}  // namespace msprobe
