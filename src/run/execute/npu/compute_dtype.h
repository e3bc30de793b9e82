// SPDX-License-Identifier: Apache-2.0
// In which dtype a bench definition computes.
#pragma once

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// float32 for the half types, else the dtype itself: never less than what PyTorch's own kernels
// and the fused operators accumulate in.
inline at::ScalarType compute_dtype(at::ScalarType dtype) {
  return dtype == at::kHalf || dtype == at::kBFloat16 ? at::kFloat : dtype;
}

inline at::Tensor widened(const at::Tensor& tensor) {
  return tensor.to(compute_dtype(tensor.scalar_type()));
}

}  // namespace msprobe::execute::npu
