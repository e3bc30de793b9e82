// SPDX-License-Identifier: Apache-2.0
// TensorView: what every later stage sees of a tensor. Tensor: the same, with whatever keeps the
// bytes alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"

namespace msprobe {

using Shape = std::vector<std::int64_t>;

// Contiguous, row-major, native byte order. bytes.size() == element count * size_bytes(dtype).
struct TensorView {
  DType dtype = DType::kFloat32;
  std::span<const std::int64_t> shape;
  std::span<const std::byte> bytes;

  std::size_t numel() const { return bytes.size() / size_bytes(dtype); }
};

// Owns its bytes through `owner` (heap memory, or the mapping of a file); copies share them.
struct Tensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  // How far apart neighbours lay when it was recorded, in elements; empty: as in `bytes`, which are
  // row-major in any case. Dense and without overlap. Kernels choose their way, and so the last
  // digits, by it.
  Shape recorded_strides = {};

  TensorView view() const { return {dtype, shape, bytes}; }
};

// Number of elements of `shape`; an error for a negative extent or a product beyond 2^63 - 1.
Result<std::int64_t> element_count(std::span<const std::int64_t> shape);

// Element count times element size, checked; what a reader asks before it takes memory.
Result<std::size_t> byte_count(std::span<const std::int64_t> shape, DType dtype);

}  // namespace msprobe
