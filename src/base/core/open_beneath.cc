// SPDX-License-Identifier: Apache-2.0
#include "core/open_beneath.h"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/descriptor.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

// As in linux/openat2.h, which older systems lack.
struct OpenHow {
  std::uint64_t flags, mode, resolve;
};
constexpr std::uint64_t kNoMagicLinks = 0x02, kBeneath = 0x08;
constexpr long kOpenat2 = 437;  // on every architecture

// As many as the kernel follows.
constexpr int kMaxLinks = 40;

int failed(int error) {
  errno = error;
  return -1;
}

// The directories from the one that must not be left down to where the way has come.
class Way {
 public:
  explicit Way(int directory) : start_(directory) {}
  int here() const { return entered_.empty() ? start_ : entered_.back().get(); }
  void enter(Descriptor directory) { entered_.push_back(std::move(directory)); }
  // False if it would leave the directory.
  bool go_up() {
    if (entered_.empty()) return false;
    entered_.pop_back();
    return true;
  }

 private:
  int start_;
  std::vector<Descriptor> entered_;
};

// What is still to be opened, the next component last.
void put_in_front(std::vector<fs::path>& left, const fs::path& name) {
  const std::vector<fs::path> parts(name.begin(), name.end());
  left.insert(left.end(), parts.rbegin(), parts.rend());
}

// Where a link in `directory` leads; empty if `part` is no link.
fs::path link_target(int directory, const fs::path& part) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(directory, part.c_str(), target.data(), target.size());
  target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return target;
}

}  // namespace

int open_beneath_by_components(int directory, const std::string& name) {
  Way way(directory);
  std::vector<fs::path> left;
  put_in_front(left, name);
  int links = 0;
  while (!left.empty()) {
    const fs::path part = std::move(left.back());
    left.pop_back();
    if (part.is_absolute()) return failed(EXDEV);
    if (part == "..") {
      if (!way.go_up()) return failed(EXDEV);
      continue;
    }
    const bool is_last = left.empty();
    if ((part.empty() || part == ".") && !is_last) continue;  // a//b, a/./b
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_last ? O_NONBLOCK : O_DIRECTORY);
    const int fd = ::openat(way.here(), part.empty() ? "." : part.c_str(), flags);
    if (fd >= 0 && is_last) return fd;
    if (fd >= 0) {
      way.enter(Descriptor(fd));
      continue;
    }
    // A link: ELOOP, but ENOTDIR if a directory was asked for.
    const int error = errno;
    const fs::path target = link_target(way.here(), part);
    if (target.empty()) return failed(error);
    if (++links > kMaxLinks) return failed(ELOOP);
    put_in_front(left, target);
  }
  return ::openat(way.here(), ".", O_RDONLY | O_CLOEXEC);  // the name ended in ..
}

int open_beneath(int directory, const std::string& name) {
  OpenHow how{
      .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .mode = 0, .resolve = kBeneath | kNoMagicLinks};
  const auto fd = static_cast<int>(::syscall(kOpenat2, directory, name.c_str(), &how, sizeof how));
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
  return open_beneath_by_components(directory, name);
}

}  // namespace msprobe
