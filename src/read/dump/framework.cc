// SPDX-License-Identifier: Apache-2.0
#include "dump/framework.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace msprobe::dump {
namespace {

constexpr std::array<std::string_view, 3> kFrameworks{"pytorch", "mindspore", "mindtorch"};

}  // namespace

std::string_view name(Framework framework) {
  return kFrameworks[static_cast<std::size_t>(framework)];
}

std::optional<Framework> parse_framework(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "pt") return Framework::kPyTorch;
  if (lower == "ms") return Framework::kMindSpore;
  const auto* const found = std::ranges::find(kFrameworks, lower);
  if (found == kFrameworks.end()) return std::nullopt;
  return static_cast<Framework>(found - kFrameworks.begin());
}

}  // namespace msprobe::dump
