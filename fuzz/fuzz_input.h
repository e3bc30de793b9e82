// SPDX-License-Identifier: Apache-2.0
// Turns libFuzzer's input into the form the readers take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "core/file.h"
#include "core/tensor.h"

namespace msprobe {

// A copy of exactly that size, so that the address sanitizer sees every byte too far.
inline FileBytes file_of(const std::uint8_t* data, std::size_t size) {
  std::shared_ptr<std::byte[]> memory(new std::byte[size]);
  if (size > 0) std::memcpy(memory.get(), data, size);
  const std::span<const std::byte> bytes(memory.get(), size);
  return {std::move(memory), bytes};
}

// Whatever a reader returns must keep its promises; every byte is read.
inline void check_tensor(const Tensor& tensor) {
  const auto wanted = byte_count(tensor.shape, tensor.dtype);
  if (!wanted || *wanted != tensor.bytes.size()) std::abort();
  unsigned sum = 0;
  for (const std::byte byte : tensor.bytes) sum += std::to_integer<unsigned>(byte);
  volatile unsigned sink = sum;
  static_cast<void>(sink);
}

}  // namespace msprobe
