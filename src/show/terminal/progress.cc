// SPDX-License-Identifier: Apache-2.0
#include "terminal/progress.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace msprobe::terminal {
namespace {

constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr std::size_t kShortestBar = 8;

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

std::string progress_text(std::string_view label, const Progress& progress, std::size_t columns) {
  const auto [first, done, total, failed, seconds] = progress;
  const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  const double rate = seconds > 0 ? static_cast<double>(done - first) / seconds : 0;
  const std::string left =
      rate > 0 ? clock_text(static_cast<double>(total - done) / rate) : std::string("?");
  const std::string percent = fmt::format("{:3.0f}%|", std::floor(share * 100));
  const std::string counts =
      fmt::format("| {}/{}{}", done, total, failed > 0 ? fmt::format(" {} failed", failed) : "");
  const std::string named = fmt::format("{}: {}", label, percent);
  const std::string times = fmt::format("{}<{}", clock_text(seconds), left);
  const std::array<std::pair<std::string, std::string>, 4> forms{{
      {named, fmt::format("{} [{}, {:.1f}/s]", counts, times, rate)},
      {named, fmt::format("{} [{}]", counts, times)},
      {percent, fmt::format("{} [{}]", counts, times)},
      {percent, counts},
  }};
  const std::size_t width = std::min(columns, kBarColumns);
  const auto taken = [](const auto& form) { return form.first.size() + form.second.size(); };
  for (const auto& form : forms) {
    if (taken(form) + kShortestBar > width) continue;
    return form.first + bar(share, width - taken(form)) + form.second;
  }
  return counts.substr(2, width);
}

}  // namespace msprobe::terminal
