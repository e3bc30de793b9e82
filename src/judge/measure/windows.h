// SPDX-License-Identifier: Apache-2.0
// A reduction over a tensor in a mapped file, so much of it in memory at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "measure/chunks.h"

namespace msprobe::measure {

// Elements that are brought in and given back together: mapping a file piece by piece costs less
// the larger the pieces are, and this many of two sides and some threads are still little memory.
inline constexpr std::uint64_t kWindow = 16 * kChunk;

// As reduce_in_chunks, a window at a time.
template <class Part, class PartOf>
Part reduce_in_windows(std::uint64_t count, int threads, const PartOf& part_of) {
  constexpr std::size_t kWindowRound = 256;  // windows whose parts are kept before they are merged
  const std::size_t windows = (count + kWindow - 1) / kWindow;
  std::vector<Part> parts(std::min(windows, kWindowRound));
  Part total{};
  for (std::size_t done = 0; done < windows; done += kWindowRound) {
    const std::size_t in_round = std::min(kWindowRound, windows - done);
    spread(in_round, threads, [&](std::size_t i) {
      const std::uint64_t first = (done + i) * kWindow;
      parts[i] = part_of(first, std::min(kWindow, count - first));
    });
    for (std::size_t i = 0; i < in_round; ++i) merge(total, parts[i]);
  }
  return total;
}

}  // namespace msprobe::measure
