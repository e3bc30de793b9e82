// SPDX-License-Identifier: Apache-2.0
#include "core/call_name.h"

#include <algorithm>

namespace msprobe {

std::optional<CallName> parse_call_name(std::string_view full_name) {
  const auto dots = std::ranges::count(full_name, '.');
  if (dots != 2 && dots != 3) return std::nullopt;
  const std::size_t first = full_name.find('.');
  const std::size_t last = full_name.rfind('.');
  return CallName{full_name.substr(0, first), full_name.substr(first + 1, last - first - 1),
                  full_name.substr(last + 1)};
}

std::string_view api_of(std::string_view full_name) {
  return full_name.substr(0, full_name.rfind('.'));
}

std::optional<RowName> parse_row_name(std::string_view name) {
  std::size_t end = name.size();
  while (true) {
    const std::size_t dot = name.substr(0, end).rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string_view segment = name.substr(dot + 1, end - dot - 1);
    if (segment == "forward" || segment == "backward") {
      const std::string_view part = name.substr(std::min(end + 1, name.size()));
      return RowName{.call = name.substr(0, dot), .forward = segment == "forward", .part = part};
    }
    end = dot;
  }
}

std::string_view call_of(std::string_view name) {
  const std::optional<RowName> row = parse_row_name(name);
  return row ? row->call : name;
}

}  // namespace msprobe
