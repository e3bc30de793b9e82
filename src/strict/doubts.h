// SPDX-License-Identifier: Apache-2.0
// Why a pass proves little.
#pragma once

#include <string>

#include "libtorch/aten.h"

namespace msprobe::strict {

// "proves little: it is all zero; ", or empty. REQUIRES: plain.
std::string doubts(const at::Tensor& device);

}  // namespace msprobe::strict
