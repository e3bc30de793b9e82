// SPDX-License-Identifier: Apache-2.0
// Lays a tensor out in memory as it lay when it was recorded.
#pragma once

#include <span>

#include "libtorch/aten.h"

namespace msprobe::arguments {

// The same elements with these strides. Unchanged if they are not those of a tensor without
// elements that share their memory (but for expanded dimensions), or would take far more memory.
at::Tensor laid_out(const at::Tensor& tensor, std::span<const std::int64_t> strides);

}  // namespace msprobe::arguments
