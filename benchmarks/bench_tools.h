// SPDX-License-Identifier: Apache-2.0
// Shared by the benchmarks: medians, the time and the memory of this process, elements to compare.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/float_formats.h"

// A loop over memory, compiled for the vectors of each machine; every ARM has those of its base.
#ifdef __x86_64__
#define MSPROBE_WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MSPROBE_WIDEST_VECTORS
#endif

namespace msprobe::bench {

template <std::size_t kCount>
double median(std::array<double, kCount> times) {
  std::ranges::sort(times);
  return times[kCount / 2];
}

// "VmRSS:" what is resident now, "VmHWM:" the most that was.
inline double resident_bytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::strtod(line.c_str() + field.size(), nullptr) * 1024;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

template <class Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// CPU time of all threads: the cost of the work, whoever else uses the machine.
inline double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

inline constexpr int kRepetitions = 9;

// Seconds of repeated work, the medians.
struct Medians {
  double elapsed = 0;
  double cpu = 0;
  double beside = 0;  // of what is done before each, to be compared with
  double beside_cpu = 0;
};

template <class Work, class Beside>
Medians time_repeatedly(const Work& work, const Beside& beside) {
  std::array<double, kRepetitions> elapsed{};
  std::array<double, kRepetitions> cpu{};
  std::array<double, kRepetitions> of_beside{};
  std::array<double, kRepetitions> beside_cpu{};
  for (std::size_t i = 0; i < kRepetitions; ++i) {
    const double start = cpu_seconds();
    of_beside[i] = seconds(beside);
    const double before = cpu_seconds();
    beside_cpu[i] = before - start;
    elapsed[i] = seconds(work);
    cpu[i] = cpu_seconds() - before;
  }
  return {median(elapsed), median(cpu), median(of_beside), median(beside_cpu)};
}

// The number of an element: between -1 and 1, and bits to choose by.
struct Element {
  float value = 0;
  std::uint64_t bits = 0;
};
inline Element element(std::uint64_t i) {
  std::uint64_t bits = i * 0x9E3779B97F4A7C15U;
  bits ^= bits >> 29;
  return {static_cast<float>(bits % 2000001) * 1e-6F - 1.0000005F, bits};
}

// As the dtype stores it. REQUIRES: float32, float16 or bfloat16.
inline void append_element(std::string& out, DType dtype, float value) {
  const auto put = [&](auto stored) {
    out.append(reinterpret_cast<const char*>(&stored), sizeof(stored));
  };
  if (dtype == DType::kFloat32) return put(value);
  put(dtype == DType::kFloat16 ? float_to_float16(value) : float_to_bfloat16(value));
}

// The same piece again and again: making numbers takes longer than comparing them.
inline void write_repeatedly(std::ofstream& file, std::string_view piece, std::uint64_t bytes) {
  while (bytes > 0) {
    const std::uint64_t size = std::min<std::uint64_t>(bytes, piece.size());
    file.write(piece.data(), static_cast<std::streamsize>(size));
    bytes -= size;
  }
}

}  // namespace msprobe::bench
