// SPDX-License-Identifier: Apache-2.0
#include "arguments/recorded_strides.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace msprobe::arguments {
namespace {

// Memory between the elements that a recorded tensor may have.
constexpr std::int64_t kMostElements = std::int64_t{1} << 20;
constexpr std::int64_t kMostTimes = 16;

// How many elements the memory spans; nothing if some of them share their place.
std::optional<std::int64_t> span_of(at::IntArrayRef shape, at::IntArrayRef strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) dims.emplace_back(strides[d], shape[d]);
  }
  std::ranges::sort(dims);
  std::int64_t span = 1;
  for (const auto& [stride, extent] : dims) {
    std::int64_t reach = 0;
    if (stride < span || __builtin_mul_overflow(stride, extent - 1, &reach) ||
        __builtin_add_overflow(span, reach, &span)) {
      return std::nullopt;
    }
  }
  return span;
}

}  // namespace

at::Tensor laid_out(const at::Tensor& tensor, std::span<const std::int64_t> strides) {
  const at::IntArrayRef wanted(strides.data(), strides.size());
  if (strides.size() != static_cast<std::size_t>(tensor.dim()) || tensor.numel() == 0 ||
      tensor.strides() == wanted) {
    return tensor;
  }
  at::Tensor once = tensor;  // an expanded dimension has its elements once
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (strides[d] == 0) once = once.narrow(static_cast<std::int64_t>(d), 0, 1);
  }
  const auto span = span_of(once.sizes(), wanted);
  if (!span || *span > std::max(kMostElements, kMostTimes * once.numel())) return tensor;
  at::Tensor memory = at::zeros({*span}, at::TensorOptions(at::kByte).device(tensor.device()));
  if (tensor.element_size() > 1) {
    memory = at::zeros({*span * tensor.element_size()}, memory.options());
  }
  const at::Tensor same = memory.view(tensor.scalar_type()).as_strided(once.sizes(), wanted);
  same.copy_(once);
  return same.expand(tensor.sizes());
}

}  // namespace msprobe::arguments
