// SPDX-License-Identifier: Apache-2.0
#include "libtorch/version.h"

#include <torch/version.h>

namespace msprobe::libtorch {

std::string version() { return TORCH_VERSION; }

}  // namespace msprobe::libtorch
