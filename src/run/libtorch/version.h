// SPDX-License-Identifier: Apache-2.0
// Which LibTorch this build runs on.
#pragma once

#include <string>

namespace msprobe::libtorch {

std::string version();  // "2.13.0"

}  // namespace msprobe::libtorch
