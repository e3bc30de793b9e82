// SPDX-License-Identifier: Apache-2.0
// Passes over the tensors of files, a part in memory at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/mapped_pages.h"
#include "core/tensor.h"
#include "ge/elements.h"
#include "measure/chunks.h"
#include "measure/windows.h"

namespace msprobe::comparison {

// Elements first .. first + count - 1 of a tensor in a mapped file, or in several: their pages are
// mapped in one call and given back at the end, so that what stays resident is the window, not the
// tensor.
class Window {
 public:
  Window(const ge::Elements& elements, std::uint64_t first, std::uint64_t count);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

 private:
  void bring(const ge::Elements& elements, std::uint64_t first, std::uint64_t count);

  MappedPages pages_;
};

// Elements first .. first + count - 1, where they lie, or read into `buffer`.
TensorView view_of(const ge::Elements& elements, std::uint64_t first, std::uint64_t count,
                   std::vector<std::byte>& buffer);

// One buffer for each side and thread.
std::vector<std::byte>& device_buffer();
std::vector<std::byte>& bench_buffer();

// Calls on_chunk(chunk, place of its first element) for every chunk of the tensor, in order.
template <class OnChunk>
void for_each_chunk(const ge::Elements& elements, const OnChunk& on_chunk) {
  for (std::uint64_t first = 0; first < elements.count; first += measure::kWindow) {
    const std::uint64_t end = std::min(first + measure::kWindow, elements.count);
    const Window window(elements, first, end - first);
    for (std::uint64_t at = first; at < end; at += measure::kChunk) {
      const std::uint64_t n = std::min<std::uint64_t>(measure::kChunk, end - at);
      on_chunk(view_of(elements, at, n, device_buffer()), at);
    }
  }
}

// Merges the parts of all windows of the first `count` elements of a pair, in order; each is made
// by add(part, chunk of device, chunk of bench, place of its first element).
template <class Part, class Add>
Part pass(const ge::Elements& device, const ge::Elements& bench, std::uint64_t count, int threads,
          const Add& add) {
  return measure::reduce_in_windows<Part>(
      count, threads, [&](std::uint64_t first, std::uint64_t size) {
        const Window of_device(device, first, size);
        const Window of_bench(bench, first, size);
        Part part;
        for (std::uint64_t at = first; at < first + size; at += measure::kChunk) {
          const std::uint64_t n = std::min<std::uint64_t>(measure::kChunk, first + size - at);
          add(part, view_of(device, at, n, device_buffer()), view_of(bench, at, n, bench_buffer()),
              at);
        }
        return part;
      });
}

}  // namespace msprobe::comparison
