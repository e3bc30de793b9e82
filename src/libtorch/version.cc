#include "libtorch/version.h"

#include <torch/version.h>

namespace msprobe::libtorch {

std::string version() { return TORCH_VERSION; }

}  // namespace msprobe::libtorch
