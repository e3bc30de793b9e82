// SPDX-License-Identifier: Apache-2.0
// What the CPU kernels of the linked PyTorch compute: 1.13 has none for float16 and sums bfloat16
// products in bfloat16.
#pragma once

#include <vector>

#include "core/dtype.h"
#include "libtorch/aten.h"
#include "libtorch/dtypes.h"

namespace msprobe::libtorch {

// The sum of 1024 ones: no more than 256 where it is kept in bfloat16; 0 where there is no kernel.
inline double sum_of_ones(DType dtype) {
  try {
    const at::ScalarType type = *scalar_type(dtype);
    return at::ones({1, 1024}, type).mm(at::ones({1024, 1}, type)).item<double>();
  } catch (const c10::Error&) {
    return 0;
  }
}

inline std::vector<DType> cpu_floats(double least_sum = 1) {
  std::vector<DType> types;
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    if (sum_of_ones(dtype) >= least_sum) types.push_back(dtype);
  }
  return types;
}

// Those whose products are summed in float32.
inline std::vector<DType> cpu_floats_with_wide_sums() { return cpu_floats(1024); }

}  // namespace msprobe::libtorch
