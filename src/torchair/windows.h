// Parts of a tensor in memory, for as long as they are needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "ge/elements.h"
#include "measure/chunks.h"

namespace msprobe::torchair {

// Elements that are brought in and given back together: mapping a file piece by piece costs less
// the larger the pieces are, and this many of two sides and some threads are still little memory.
inline constexpr std::uint64_t kWindow = 16 * measure::kChunk;

// Elements first .. first + count - 1 of a tensor in a mapped file, or in several: their pages are
// mapped in one call and given back at the end, so that what stays resident is the window, not the
// tensor.
class Window {
 public:
  Window(const ge::Elements& elements, std::uint64_t first, std::uint64_t count);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

 private:
  void bring(const ge::Elements& elements, std::uint64_t first, std::uint64_t count);

  std::vector<std::span<const std::byte>> mapped_;  // to give back
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

// As measure::reduce_in_chunks, a window at a time.
template <class Part, class PartOf>
Part reduce_in_windows(std::uint64_t count, int threads, const PartOf& part_of) {
  constexpr std::size_t kRound = 256;  // windows whose parts are kept before they are merged
  const std::size_t windows = (count + kWindow - 1) / kWindow;
  std::vector<Part> parts(std::min(windows, kRound));
  Part total{};
  for (std::size_t done = 0; done < windows; done += kRound) {
    const std::size_t in_round = std::min(kRound, windows - done);
    measure::spread(in_round, threads, [&](std::size_t i) {
      const std::uint64_t first = (done + i) * kWindow;
      parts[i] = part_of(first, std::min(kWindow, count - first));
    });
    for (std::size_t i = 0; i < in_round; ++i) merge(total, parts[i]);
  }
  return total;
}

}  // namespace msprobe::torchair
