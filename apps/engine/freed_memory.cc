// SPDX-License-Identifier: Apache-2.0
#include "freed_memory.h"

#include <cstddef>

#include <malloc.h>

namespace msprobe::engine {
namespace {

// So much may be free and stay.
constexpr int kKept = 512 << 20;

}  // namespace

#ifdef __GLIBC__

// A block of its own mapping would be unmapped when it is freed, and glibc's threshold for such
// blocks is 32 MB at most.
void keep_freed_memory() {
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
}

// The end of the heap is trimmed when it is freed; here is what lies below a block in use.
void release_excess_memory() {
#if __GLIBC_PREREQ(2, 33)
  if (::mallinfo2().fordblks > std::size_t{kKept}) ::malloc_trim(kKept);
#endif
}

#else

void keep_freed_memory() {}
void release_excess_memory() {}

#endif

}  // namespace msprobe::engine
