// SPDX-License-Identifier: Apache-2.0
// How far a long job is, on one line of a terminal; nothing at all where there is none.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace msprobe::app {

// "Processing:  45%|████▌     | 450/1000 [00:12<00:15, 36.5/s]", `width` columns wide. `seconds`
// have passed since `first` of the items were done.
std::string progress_text(std::string_view label, std::size_t first, std::size_t done,
                          std::size_t total, double seconds, std::size_t width = 75);

// Draws on standard error.
class ProgressBar {
 public:
  explicit ProgressBar(std::string_view label);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::size_t done, std::size_t total);
  // Takes the line away, for other output; the next show() draws it again.
  void clear();

 private:
  std::string label_;
  bool terminal_;
  bool drawn_ = false;
  bool started_ = false;
  std::size_t first_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace msprobe::app
