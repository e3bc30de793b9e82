// SPDX-License-Identifier: Apache-2.0
#include "collect/strided_view.h"

#include <algorithm>
#include <numeric>

namespace msprobe::collect {
namespace {

template <std::size_t size>
void copy_row(const std::byte* row, std::ptrdiff_t step, std::size_t count, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i, row += step, out += size) std::memcpy(out, row, size);
}

void copy_row(std::size_t size, const std::byte* row, std::ptrdiff_t step, std::size_t count,
              std::byte* out) {
  switch (size) {  // a fixed size lets the compiler move one element with one instruction
    case 1:
      return copy_row<1>(row, step, count, out);
    case 2:
      return copy_row<2>(row, step, count, out);
    case 4:
      return copy_row<4>(row, step, count, out);
    case 8:
      return copy_row<8>(row, step, count, out);
    default:
      return copy_row<16>(row, step, count, out);
  }
}

}  // namespace

std::size_t StridedView::numel() const {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

std::size_t StridedView::nbytes() const {
  std::size_t bytes = 0;
  return __builtin_mul_overflow(numel(), size_bytes(dtype), &bytes) ? SIZE_MAX : bytes;
}

StridedView simplified(const StridedView& view, bool any_order) {
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] != 1) order.push_back(d);
  }
  if (any_order) {
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return view.strides[a] > view.strides[b]; });
  }
  StridedView simple{view.data, view.dtype, {}, {}};
  for (const std::size_t d : order) {
    if (!simple.shape.empty() && simple.strides.back() == view.strides[d] * view.shape[d]) {
      simple.shape.back() *= view.shape[d];
      simple.strides.back() = view.strides[d];
    } else {
      simple.shape.push_back(view.shape[d]);
      simple.strides.push_back(view.strides[d]);
    }
  }
  return simple;
}

void copy_contiguous(const StridedView& view, std::byte* out) {
  if (view.numel() == 0) return;
  const std::size_t size = size_bytes(view.dtype);
  const StridedView simple = simplified(view, false);
  if (simple.shape.empty()) {
    std::memcpy(out, simple.data, size);
    return;
  }
  const auto row_length = static_cast<std::size_t>(simple.shape.back());
  const std::ptrdiff_t step = simple.strides.back() * static_cast<std::ptrdiff_t>(size);
  detail::for_each_row(simple, [&](const std::byte* row) {
    if (simple.strides.back() == 1) {
      std::memcpy(out, row, row_length * size);
    } else {
      copy_row(size, row, step, row_length, out);
    }
    out += row_length * size;
  });
}

}  // namespace msprobe::collect
