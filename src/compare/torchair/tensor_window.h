// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor in memory, for as long as they are needed.
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

namespace msprobe::torchair {

using measure::kWindow;
using measure::reduce_in_windows;

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

// Calls on_chunk(first, n) for the chunks of elements first .. first + count - 1.
template <class OnChunk>
void for_each_chunk(std::uint64_t first, std::uint64_t count, const OnChunk& on_chunk) {
  for (std::uint64_t done = 0; done < count; done += measure::kChunk) {
    on_chunk(first + done, std::min<std::uint64_t>(measure::kChunk, count - done));
  }
}

}  // namespace msprobe::torchair
