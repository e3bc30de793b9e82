// SPDX-License-Identifier: Apache-2.0
#include "progress_bar.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace msprobe::app {
namespace {

constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds);
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

std::string bar(double share, std::size_t columns) {
  const auto eighths = static_cast<std::size_t>(share * static_cast<double>(columns) * 8);
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  std::size_t used = eighths / 8;
  if (eighths % 8 > 0) {
    text += kEighths[eighths % 8];
    ++used;
  }
  return text + std::string(columns - used, ' ');
}

}  // namespace

std::string progress_text(std::string_view label, std::size_t first, std::size_t done,
                          std::size_t total, double seconds, std::size_t width) {
  const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  const double rate = seconds > 0 ? static_cast<double>(done - first) / seconds : 0;
  const std::string left = fmt::format("{}: {:3.0f}%|", label, std::floor(share * 100));
  const std::string rest =
      rate > 0 ? clock_text(static_cast<double>(total - done) / rate) : std::string("?");
  const std::string right =
      fmt::format("| {}/{} [{}<{}, {:.1f}/s]", done, total, clock_text(seconds), rest, rate);
  const std::size_t taken = left.size() + right.size();
  return left + bar(share, width > taken ? width - taken : 0) + right;
}

ProgressBar::ProgressBar(std::string_view label)
    : label_(label), terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressBar::show(std::size_t done, std::size_t total) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (!started_) {
    started_ = true;
    first_ = done;
    start_ = now;
  }
  const double seconds = std::chrono::duration<double>(now - start_).count();
  fmt::print(stderr, "\r\033[K{}", progress_text(label_, first_, done, total, seconds));
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
