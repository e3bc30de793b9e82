// SPDX-License-Identifier: Apache-2.0
// How much CPU time the tensor files that wait to be saved will take.
#pragma once

#include <chrono>
#include <cstddef>
#include <ctime>

namespace msprobe::collect {

inline std::chrono::nanoseconds cpu_time(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Guessed from sizes, corrected by what earlier files took. Not for several threads at a time.
class SavingCost {
 public:
  void add(std::size_t size) { waiting_ += guess(size); }

  // A file that waited is saved, and took `took`.
  void remove(std::size_t size, std::chrono::nanoseconds took) {
    waiting_ -= guess(size);
    const double ratio = static_cast<double>(took.count()) / guess(size);
    correction_ += kWeightOfLast * (ratio - correction_);
  }

  // What is recorded now would be in its files too late.
  bool is_far_behind() const { return waiting_ * correction_ > kMaxWaiting; }

 private:
  static constexpr double kPerFile = 40e3, kPerByte = 0.6;  // nanoseconds
  static constexpr double kMaxWaiting = 20e6;
  static constexpr double kWeightOfLast = 0.05;

  static double guess(std::size_t size) { return kPerFile + kPerByte * static_cast<double>(size); }

  double waiting_ = 0;
  double correction_ = 1;
};

}  // namespace msprobe::collect
