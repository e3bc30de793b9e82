// SPDX-License-Identifier: Apache-2.0
// Numbers in the names of files and directories.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace msprobe::torchair {

inline bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

inline std::optional<std::int64_t> number_of(std::string_view digits) {
  std::int64_t value = 0;
  if (!all_digits(digits)) return std::nullopt;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace msprobe::torchair
