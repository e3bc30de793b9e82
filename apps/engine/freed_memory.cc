// SPDX-License-Identifier: Apache-2.0
#include "freed_memory.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#ifdef __GLIBC__
#if !__GLIBC_PREREQ(2, 33)
struct mallinfo2 {
  std::size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
#endif
// It is there if the process runs on glibc 2.33 or newer, whatever this was compiled or linked
// with.
extern "C" struct mallinfo2 mallinfo2() noexcept __attribute__((weak));
#endif

namespace msprobe::engine {
namespace {

// So much may be free and stay.
constexpr int kKept = 512 << 20;

#ifdef __GLIBC__

// What this process holds beside files. 0 if the system does not say.
std::size_t resident_bytes() {
  std::array<char, 128> text{};
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t count = ::read(fd, text.data(), text.size());
  ::close(fd);
  std::array<std::size_t, 3> pages{};  // size, resident, of files
  const char* at = text.data();
  const char* const end = text.data() + (count < 0 ? 0 : count);
  for (std::size_t& number : pages) {
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return 0;
    at = rest == end ? rest : rest + 1;
  }
  return (pages[1] - pages[2]) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

#endif

}  // namespace

#ifdef __GLIBC__

// A block of its own mapping would be unmapped when it is freed, and glibc's threshold for such
// blocks is 32 MB at most.
void keep_freed_memory() {
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
}

// The end of the heap is trimmed when it is freed; here is what lies below a block in use. Blocks
// that were given back are still free, so that the resident memory tells what there is to give.
void release_excess_memory() {
  if (&::mallinfo2 == nullptr) return;
  const struct mallinfo2 heap = ::mallinfo2();
  if (heap.fordblks <= std::size_t{kKept}) return;
  if (resident_bytes() > heap.uordblks + std::size_t{kKept}) ::malloc_trim(kKept);
}

#else

void keep_freed_memory() {}
void release_excess_memory() {}

#endif

}  // namespace msprobe::engine
