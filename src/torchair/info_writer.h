// Small arrays as numpy writes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace msprobe::torchair {

// The header of a version 1 npy, ended so that the data starts at a multiple of 64 bytes.
// REQUIRES: a dtype numpy has; see numpy_dtype().
std::string npy_header(DType dtype, std::span<const std::int64_t> shape);

// The dtype of the array that stands for elements of `dtype`: formats numpy lacks become float32.
DType numpy_dtype(DType dtype);

// An npz with stored members, name (without ".npy") and content each.
std::string make_npz(const std::vector<std::pair<std::string, std::string>>& arrays);

}  // namespace msprobe::torchair
