// SPDX-License-Identifier: Apache-2.0
// What a tensor is indexed by, as in x[1:9:2] and x[rows].
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/TensorIndexing.h>

#include "libtorch/aten.h"

namespace msprobe::libtorch {

// Throws what LibTorch throws, as for a step of 0.
at::indexing::Slice slice(std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                          std::optional<std::int64_t> step);

// A tensor of indices or truth values, in a type that this LibTorch takes as an index.
at::Tensor index_tensor(const at::Tensor& tensor);

}  // namespace msprobe::libtorch
