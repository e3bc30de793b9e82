#include "check/api_name.h"

#include <algorithm>
#include <string>

namespace msprobe::check {
std::optional<ApiName> parse_api_name(std::string_view full_name) {
  const auto dots = std::ranges::count(full_name, '.');
  if (dots != 2 && dots != 3) return std::nullopt;
  const std::size_t first = full_name.find('.');
  const std::size_t last = full_name.rfind('.');
  return ApiName{full_name.substr(0, first), full_name.substr(first + 1, last - first - 1),
                 full_name.substr(last + 1)};
}

std::string_view call_of(std::string_view name) {
  for (const std::string_view direction : {".forward", ".backward"}) {
    if (name.ends_with(direction)) return name.substr(0, name.size() - direction.size());
    const std::string output = std::string(direction) + ".output.";
    if (const std::size_t at = name.rfind(output); at != std::string_view::npos) {
      return name.substr(0, at);
    }
  }
  return name;
}

}  // namespace msprobe::check
