// SPDX-License-Identifier: Apache-2.0
#include "core/memory_share.h"

#include <new>

#include "core/machine_memory.h"

namespace msprobe {

std::shared_ptr<std::byte[]> MemoryShare::take(std::uint64_t bytes) {
  std::uint64_t before = taken_;
  do {
    if (bytes > most_bytes_ - before) return nullptr;
  } while (!taken_.compare_exchange_weak(before, before + bytes));
  auto* const memory = new (std::nothrow) std::byte[bytes];
  if (memory == nullptr) {
    taken_ -= bytes;
    return nullptr;
  }
  return {memory, [this, bytes](const std::byte* taken) {
            delete[] taken;
            taken_ -= bytes;
          }};
}

MemoryShare& inflated_share() {
  // Never destroyed: what was inflated may be held until the end of the process.
  static MemoryShare& share = *new MemoryShare(machine_memory_bytes() / 2);
  return share;
}

}  // namespace msprobe
