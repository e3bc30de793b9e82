// SPDX-License-Identifier: Apache-2.0
// Why a pass proves little.
#pragma once

#include <string_view>

#include "libtorch/aten.h"

namespace msprobe::strict {

// "it is all zero", or empty. REQUIRES: plain.
std::string_view why_little(const at::Tensor& device);

}  // namespace msprobe::strict
