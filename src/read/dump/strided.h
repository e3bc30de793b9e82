// SPDX-License-Identifier: Apache-2.0
// From an array as a file lays it out to the contiguous, native one the later stages want.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"

namespace msprobe::dump {

struct StridedArray {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<std::int64_t> strides;  // in elements, as many as extents
  std::int64_t offset = 0;            // of the first element, in elements
  bool big_endian = false;
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;  // the whole storage
};

// Strides of a contiguous array, the last (or, `fortran`, the first) extent fastest.
// REQUIRES: element_count(shape) succeeds.
std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape, bool fortran);

// Refuses whatever reaches out of the storage, and arrays that grow far beyond it by repeating its
// elements. Points into the storage where nothing has to be moved; `name` opens every message.
Result<Tensor> to_tensor(const StridedArray& array, std::string_view name);

// Changes the sign of every element (`imaginary_only`: of the imaginary parts): what a tensor saved
// with a pending negation or conjugation still needs. Copies.
Result<Tensor> negated(const Tensor& tensor, bool imaginary_only, std::string_view name);

}  // namespace msprobe::dump
