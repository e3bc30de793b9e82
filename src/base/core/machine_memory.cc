// SPDX-License-Identifier: Apache-2.0
#include "core/machine_memory.h"

#include <algorithm>
#include <fstream>

#include <unistd.h>

namespace msprobe {

std::uint64_t machine_memory_bytes() {
  std::uint64_t bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  // Of control groups, version 2 and 1. "max" is not a number.
  for (const char* name :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::uint64_t limit = 0;
    if (std::ifstream(name) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace msprobe
