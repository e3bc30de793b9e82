// SPDX-License-Identifier: Apache-2.0
#include "libtorch/indexing.h"

#include <type_traits>

#include "libtorch/since.h"

namespace msprobe::libtorch {
namespace {

using at::indexing::Slice;

// Bounds are plain integers in 1.13, symbolic ones later.
using Bound = std::conditional_t<std::is_constructible_v<Slice, c10::optional<c10::SymInt>>,
                                 c10::SymInt, std::int64_t>;

c10::optional<Bound> bound(const std::optional<std::int64_t>& value) {
  return value ? c10::optional<Bound>(*value) : c10::nullopt;
}

}  // namespace

Slice slice(std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
            std::optional<std::int64_t> step) {
  return Slice(bound(start), bound(stop), bound(step));
}

at::Tensor index_tensor(const at::Tensor& tensor) {
#if !MSPROBE_TORCH_SINCE(2, 1)
  if (tensor.scalar_type() == at::kInt) return tensor.to(at::kLong);
#endif
  return tensor;
}

}  // namespace msprobe::libtorch
