// SPDX-License-Identifier: Apache-2.0
// What benchmarks share: medians, the time and the memory of this process.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

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

// Of all threads: what the work costs, also where others use the machine.
inline double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace msprobe::bench
