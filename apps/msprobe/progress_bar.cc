// SPDX-License-Identifier: Apache-2.0
#include "progress_bar.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "terminal/progress.h"

namespace msprobe::app {
ProgressBar::ProgressBar(std::string_view label)
    : label_(label), screen_(terminal::screen_of(STDERR_FILENO)) {}

void ProgressBar::show(std::size_t done, std::size_t total, std::size_t failed) {
  if (!screen_.redraws) return;
  const auto now = std::chrono::steady_clock::now();
  if (!started_) {
    started_ = true;
    first_ = done;
    start_ = now;
  }
  const double seconds = std::chrono::duration<double>(now - start_).count();
  fmt::print(
      stderr, "\r\033[K{}",
      terminal::progress_text(
          label_,
          {.first = first_, .done = done, .total = total, .failed = failed, .seconds = seconds},
          screen_.columns - 1));
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace msprobe::app
