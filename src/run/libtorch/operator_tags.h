// SPDX-License-Identifier: Apache-2.0
// What PyTorch itself says of its operators.
#pragma once

#include "libtorch/aten.h"

namespace msprobe::libtorch {

// Whether each element of the result comes from the same element of every argument. PyTorch before
// 2.1 does not say: false.
bool is_pointwise(const c10::OperatorHandle& op);

}  // namespace msprobe::libtorch
