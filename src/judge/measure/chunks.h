// SPDX-License-Identifier: Apache-2.0
// A reduction over many elements in fixed chunks, merged in index order for any number of
// threads, so that its digits depend on the data alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace msprobe::measure {

// Elements of a chunk. Large enough that taking one is cheap, small enough that the threads end
// together.
inline constexpr std::size_t kChunk = std::size_t{1} << 16;

// Chunks whose parts are kept before they are merged: memory does not grow with the tensor.
inline constexpr std::size_t kRound = 1024;

// Calls work(i) for i in 0 .. count - 1, each once, on up to `threads` threads. Where the system
// gives fewer, those do the rest.
template <class Work>
void spread(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> helpers;
  const std::size_t wanted = std::min(count, static_cast<std::size_t>(std::max(threads, 1)));
  try {
    for (std::size_t i = 1; i < wanted; ++i) helpers.emplace_back(run);
  } catch (const std::system_error&) {
    // No further thread: this one works on.
  }
  run();
}

// Merges part_of(first, count) of every chunk of `count` elements, in index order.
template <class Part, class PartOf>
Part reduce_in_chunks(std::size_t count, int threads, const PartOf& part_of) {
  const std::size_t chunks = (count + kChunk - 1) / kChunk;
  std::vector<Part> parts(std::min(chunks, kRound));
  Part total{};
  for (std::size_t done = 0; done < chunks; done += kRound) {
    const std::size_t in_round = std::min(kRound, chunks - done);
    spread(in_round, threads, [&](std::size_t i) {
      const std::size_t first = (done + i) * kChunk;
      parts[i] = part_of(first, std::min(kChunk, count - first));
    });
    for (std::size_t i = 0; i < in_round; ++i) merge(total, parts[i]);
  }
  return total;
}

}  // namespace msprobe::measure
