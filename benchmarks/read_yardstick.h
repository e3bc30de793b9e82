// SPDX-License-Identifier: Apache-2.0
// The yardstick of reading: how fast the machine brings bytes from memory. Whoever includes it has
// to be compiled with msprobe_optimize(), so that the loop is vectorised.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "bench_tools.h"

namespace msprobe::bench {

MSPROBE_WIDEST_VECTORS static std::uint64_t word_sum(const std::uint64_t* words,
                                                     std::size_t count) {
  return std::accumulate(words, words + count, std::uint64_t{0});
}

// Each thread adds up its part of the bytes, as words.
inline std::uint64_t read_all(std::span<const std::uint64_t> words, int threads) {
  std::atomic<std::uint64_t> sum = 0;
  const std::size_t part = words.size() / static_cast<std::size_t>(threads);
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < threads; ++i) {
      readers.emplace_back(
          [&, i] { sum += word_sum(words.data() + part * static_cast<std::size_t>(i), part); });
    }
  }
  return sum;
}

inline constexpr int kReaders = 2;

// Work over `bytes` bytes of files beside reading memory: GB/s of both, also for each second of CPU
// time.
struct BesideReading {
  double speed = 0;
  double reading = 0;
  double cpu_speed = 0;
  double cpu_reading = 0;

  double percent() const { return 100 * speed / reading; }
};
template <class Work>
BesideReading beside_reading(double bytes, const Work& work) {
  const std::vector<std::uint64_t> words(std::size_t{64} << 20, 1);
  [[maybe_unused]] volatile std::uint64_t keep = 0;
  const Medians medians = time_repeatedly(work, [&] { keep = read_all(words, kReaders); });
  const auto read = static_cast<double>(words.size() * sizeof(words.front()));
  return {bytes / medians.elapsed * 1e-9, read / medians.beside * 1e-9, bytes / medians.cpu * 1e-9,
          read / medians.beside_cpu * 1e-9};
}

}  // namespace msprobe::bench
