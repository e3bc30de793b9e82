// SPDX-License-Identifier: Apache-2.0
#include "memory_limit.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "core/machine_memory.h"

namespace msprobe::engine {
namespace {

// What earlier calls leave: freed memory that is kept for the next one, compiled kernels, caches.
constexpr std::uint64_t kKeptBetweenCalls = std::uint64_t{4} << 30;
// The stacks of LibTorch's threads, which it starts when it first needs them.
constexpr std::uint64_t kBytesOfAThread = std::uint64_t{32} << 20;

// Of this process: memory of its own that can be written. 0 if the system does not say.
std::uint64_t data_bytes() {
  std::array<std::uint64_t, 6> pages{};  // the last: data and stack
  std::ifstream file("/proc/self/statm");
  for (std::uint64_t& number : pages) file >> number;
  return file ? pages.back() * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

std::uint64_t memory_of_a_call(std::uint64_t asked) {
  const std::uint64_t machine = machine_memory_bytes();
  return asked > 0 ? std::min(asked, machine) : machine;
}

void limit_memory(std::uint64_t call_bytes) {
  rlimit limit{};
  const std::uint64_t now = data_bytes();
  if (now == 0 || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const std::uint64_t kept = std::min(call_bytes, kKeptBetweenCalls);
  const std::uint64_t threads = kBytesOfAThread * std::max(1U, std::thread::hardware_concurrency());
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, now + call_bytes + kept + threads);
  ::setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace msprobe::engine
