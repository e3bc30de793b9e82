#include "check/api_name.h"

#include <algorithm>

namespace msprobe::check {
namespace {

constexpr std::string_view kFormulaStarts[] = {"+",  "-",  "=",  "%",  "@",
                                               "＋", "－", "＝", "％", "＠"};

// Bytes of the formula start at `text`'s front; 0: none.
std::size_t formula_start(std::string_view text) {
  for (const std::string_view start : kFormulaStarts) {
    if (text.starts_with(start)) return start.size();
  }
  return 0;
}

}  // namespace

std::optional<ApiName> parse_api_name(std::string_view full_name) {
  const auto dots = std::ranges::count(full_name, '.');
  if (dots != 2 && dots != 3) return std::nullopt;
  const std::size_t first = full_name.find('.');
  const std::size_t last = full_name.rfind('.');
  return ApiName{full_name.substr(0, first), full_name.substr(first + 1, last - first - 1),
                 full_name.substr(last + 1)};
}

bool looks_like_formula(std::string_view text) {
  if (formula_start(text) != 0) return true;
  for (std::size_t at = text.find(';'); at != std::string_view::npos; at = text.find(';', at + 1)) {
    if (formula_start(text.substr(at + 1)) != 0) return true;
  }
  return false;
}

std::string cell_name(std::string_view full_name) {
  if (!looks_like_formula(full_name)) return std::string(full_name);
  std::string safe;
  bool at_start = true;
  while (!full_name.empty()) {
    const std::size_t unsafe = at_start ? formula_start(full_name) : 0;
    at_start = unsafe == 0 && full_name[0] == ';';
    safe += unsafe == 0 ? full_name[0] : '_';
    full_name.remove_prefix(std::max<std::size_t>(unsafe, 1));
  }
  return safe;
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
