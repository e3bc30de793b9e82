// SPDX-License-Identifier: Apache-2.0
// The header of a file that numpy reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/dtype.h"

namespace msprobe {

// The header of a version 1 npy, ended so that the data starts at a multiple of 64 bytes.
// REQUIRES: a dtype numpy has; see numpy_dtype().
std::string npy_header(DType dtype, std::span<const std::int64_t> shape);

// The dtype of the array that stands for elements of `dtype`: formats numpy lacks become float32.
DType numpy_dtype(DType dtype);

}  // namespace msprobe
