#include "compare/row_name.h"

#include <array>

namespace msprobe::compare {

std::optional<RowName> parse_row_name(std::string_view name) {
  constexpr std::size_t kMostSegments = 7;
  constexpr std::size_t kFewestSegments = 6;
  std::array<std::size_t, kMostSegments> starts{};
  std::size_t count = 1;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
       dot = name.find('.', dot + 1)) {
    if (count == kMostSegments) return std::nullopt;
    starts[count++] = dot + 1;
  }
  if (count < kFewestSegments) return std::nullopt;
  const std::size_t direction = count - 3;  // Type . name . index . direction . output . number
  const auto segment = [&](std::size_t i) {
    return name.substr(starts[i], starts[i + 1] - starts[i] - 1);
  };
  if (segment(direction) != "forward" && segment(direction) != "backward") return std::nullopt;
  return RowName{.call = name.substr(0, starts[direction] - 1),
                 .api = name.substr(starts[1], starts[direction - 1] - 1 - starts[1]),
                 .forward = segment(direction) == "forward"};
}

}  // namespace msprobe::compare
