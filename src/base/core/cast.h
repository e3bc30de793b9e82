// SPDX-License-Identifier: Apache-2.0
// Elements in another dtype, for data that is stored wider than it is (bfloat16 kept in a float32
// npy).
#pragma once

#include "core/dtype.h"
#include "core/result.h"
#include "core/tensor.h"

namespace msprobe {

// Rounds to nearest even. Real to real of any width, integers and bool included where every value
// fits exactly; a value that is lost (300 as uint8, 0.5 as bool) is an error that names its index.
// Complex only to complex. uint8 to a format of codes keeps the bytes, which are its codes; of
// packed numbers nothing else can be made or comes.
Result<Tensor> cast(const Tensor& tensor, DType dtype);

}  // namespace msprobe
