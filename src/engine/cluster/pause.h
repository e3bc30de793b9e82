// SPDX-License-Identifier: Apache-2.0
// Chooses how long to wait for descriptors before looking for messages again: MPI has no descriptor
// to wait for, and a machine's cores are for its engines.
#pragma once

#include <chrono>

#include <poll.h>

namespace msprobe::cluster {

class Pause {
 public:
  // Something happened: the next looks follow quickly.
  void busy() { last_ = Clock::now(); }

  timespec length() const {
    const bool active = Clock::now() - last_ < kActive;
    return {.tv_sec = 0, .tv_nsec = active ? kShortNanoseconds : kLongNanoseconds};
  }

 private:
  using Clock = std::chrono::steady_clock;
  // Longer than most calls run: an answer that is looked for late leaves an engine idle.
  static constexpr std::chrono::seconds kActive{1};
  static constexpr long kShortNanoseconds = 200'000;
  static constexpr long kLongNanoseconds = 2'000'000;

  Clock::time_point last_ = Clock::now();
};

}  // namespace msprobe::cluster
