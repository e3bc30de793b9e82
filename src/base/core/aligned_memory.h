// SPDX-License-Identifier: Apache-2.0
// Memory at addresses that suit vectors, as LibTorch's own.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace msprobe {

// Addresses are multiples of this.
inline constexpr std::size_t kMemoryAlignment = 64;

inline std::shared_ptr<std::byte[]> aligned_memory(std::size_t size_bytes) {
  constexpr std::align_val_t kAligned{kMemoryAlignment};
  return {static_cast<std::byte*>(::operator new(size_bytes, kAligned)),
          [](std::byte* memory) { ::operator delete(memory, kAligned); }};
}

}  // namespace msprobe
