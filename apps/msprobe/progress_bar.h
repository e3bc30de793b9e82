// SPDX-License-Identifier: Apache-2.0
// Shows the progress of a long job on one line of a terminal; does nothing if there is none.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "terminal/screen.h"

namespace msprobe::app {

// Draws on standard error, if that is a terminal that can redraw a line.
class ProgressBar {
 public:
  explicit ProgressBar(std::string_view label);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::size_t done, std::size_t total, std::size_t failed = 0);
  // Takes the line away, for other output; the next show() draws it again.
  void clear();

 private:
  std::string label_;
  terminal::Screen screen_;
  bool drawn_ = false;
  bool started_ = false;
  std::size_t first_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace msprobe::app
