// SPDX-License-Identifier: Apache-2.0
// A tensor as it lies in memory, seen through its strides: what the collector reads a model's
// tensors through, without knowing the library they belong to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/dtype.h"

namespace msprobe::collect {

struct StridedView {
  const std::byte* data = nullptr;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements, as many as extents

  std::size_t numel() const;
  // The largest number where an expanded tensor has more.
  std::size_t nbytes() const;
};

// The same elements with as few dimensions as possible: extents of 1 dropped, neighbours
// that follow one another merged. `any_order` also sorts the dimensions by stride, so that a
// transposed tensor becomes the block of memory that it is.
StridedView simplified(const StridedView& view, bool any_order);

// Writes the elements in row-major order. REQUIRES: `out` holds view.nbytes() bytes.
void copy_contiguous(const StridedView& view, std::byte* out);

// Calls visit(pointer, count) for runs of elements that lie one behind the other, together all the
// elements: in row-major order, or in the order of memory where `any_order`. Runs of less than
// kShortRun elements are copied together first.
inline constexpr std::size_t kShortRun = 64;

template <class Visit>
void for_each_run(const StridedView& view, bool any_order, const Visit& visit);

namespace detail {

// The start of every innermost row, in order. `visit(pointer)` is called for each.
template <class Visit>
void for_each_row(const StridedView& view, const Visit& visit) {
  const std::size_t outer = view.shape.size() - 1;
  const auto size = static_cast<std::ptrdiff_t>(size_bytes(view.dtype));
  std::vector<std::int64_t> index(outer, 0);
  const std::byte* row = view.data;
  while (true) {
    visit(row);
    std::size_t d = outer;
    while (d > 0) {
      --d;
      row += view.strides[d] * size;
      if (++index[d] < view.shape[d]) break;
      row -= view.strides[d] * view.shape[d] * size;
      index[d] = 0;
      if (d == 0) return;
    }
    if (outer == 0) return;
  }
}

}  // namespace detail

template <class Visit>
void for_each_run(const StridedView& view, bool any_order, const Visit& visit) {
  if (view.numel() == 0) return;
  const StridedView simple = simplified(view, any_order);
  if (simple.shape.empty()) return visit(simple.data, std::size_t{1});
  const auto row_length = static_cast<std::size_t>(simple.shape.back());
  if (simple.strides.back() == 1 && (row_length >= kShortRun || simple.shape.size() == 1)) {
    return detail::for_each_row(simple, [&](const std::byte* row) { visit(row, row_length); });
  }
  const std::size_t size = size_bytes(simple.dtype);
  const std::ptrdiff_t step = simple.strides.back() * static_cast<std::ptrdiff_t>(size);
  constexpr std::size_t kGathered = 1024;
  alignas(64) std::byte gathered[kGathered * 16];
  std::size_t count = 0;
  detail::for_each_row(simple, [&](const std::byte* row) {
    for (std::size_t i = 0; i < row_length; ++i, row += step) {
      std::memcpy(gathered + count * size, row, size);
      if (++count == kGathered) {
        visit(static_cast<const std::byte*>(gathered), count);
        count = 0;
      }
    }
  });
  if (count > 0) visit(static_cast<const std::byte*>(gathered), count);
}

}  // namespace msprobe::collect
