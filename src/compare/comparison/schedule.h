// SPDX-License-Identifier: Apache-2.0
// Schedules files of all sizes on the threads of a comparison.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "measure/chunks.h"

namespace msprobe::comparison {

// From here on one file is worth all threads; below, every thread takes its own files.
inline constexpr std::uint64_t kLargeFile = std::uint64_t{16} << 20;

// Calls measure(job, threads) once for each job: small ones are spread over the threads, then large
// ones take all threads, one by one.
template <class Job, class IsLarge, class Measure>
void schedule(std::span<Job* const> jobs, int threads, const IsLarge& is_large,
              const Measure& measure) {
  std::vector<Job*> small;
  std::vector<Job*> large;
  for (Job* job : jobs) (is_large(*job) ? large : small).push_back(job);
  measure::spread(small.size(), threads, [&](std::size_t i) { measure(*small[i], 1); });
  for (Job* job : large) measure(*job, threads);
}

}  // namespace msprobe::comparison
