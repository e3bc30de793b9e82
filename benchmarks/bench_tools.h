// What benchmarks share: medians, and the memory of this process.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
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

}  // namespace msprobe::bench
