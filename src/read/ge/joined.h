// SPDX-License-Identifier: Apache-2.0
// One tensor from the slices of several files, read as if it lay in one piece.
#pragma once

#include <cstddef>
#include <span>

#include "core/result.h"
#include "ge/elements.h"

namespace msprobe::ge {

// A slice of a tensor, and the file it is in.
struct TensorSlice {
  const DumpTensor* tensor = nullptr;
  FileBytes file;
};

// The slices one after another along `axis` of the stored shape. Nothing is copied: memory is
// bounded by the part that is read, regardless of the axis. An error if the slices do not fit.
Result<Elements> join_slices(std::span<const TensorSlice> slices, std::size_t axis);

}  // namespace msprobe::ge
