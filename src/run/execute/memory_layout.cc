// SPDX-License-Identifier: Apache-2.0
#include "execute/memory_layout.h"

namespace msprobe::execute {

at::Tensor laid_out(const at::Tensor& tensor, Layout layout) {
  const auto exchanged = [&](std::int64_t one, std::int64_t other) {
    return tensor.transpose(one, other).contiguous().transpose(one, other);
  };
  const std::int64_t dimensions = tensor.dim();
  if (layout == Layout::kColumns && dimensions >= 2) return exchanged(-2, -1);
  if (layout == Layout::kPlanes && dimensions >= 3) return exchanged(-3, -2);
  if (layout == Layout::kParts && dimensions >= 1) {
    return at::cat({tensor, tensor}, -1).narrow(-1, 0, tensor.size(-1));
  }
  return tensor;
}

}  // namespace msprobe::execute
