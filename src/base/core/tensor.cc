// SPDX-License-Identifier: Apache-2.0
#include "core/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace msprobe {

Result<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      return fail(ErrorKind::kFormat,
                  fmt::format("shape ({}) has a negative extent", fmt::join(shape, ", ")));
    }
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, extent, &count)) {
      return fail(ErrorKind::kFormat,
                  fmt::format("shape ({}) has more elements than 64 bits can count",
                              fmt::join(shape, ", ")));
    }
  }
  return empty ? 0 : count;
}

Result<std::size_t> byte_count(std::span<const std::int64_t> shape, DType dtype) {
  const Result<std::int64_t> count = element_count(shape);
  if (!count) return propagate(count);
  std::int64_t total = 0;
  if (__builtin_mul_overflow(*count, static_cast<std::int64_t>(size_bytes(dtype)), &total)) {
    return fail(ErrorKind::kFormat,
                fmt::format("shape ({}) of {} needs more bytes than 64 bits can count",
                            fmt::join(shape, ", "), name(dtype)));
  }
  return static_cast<std::size_t>(total);
}

}  // namespace msprobe
