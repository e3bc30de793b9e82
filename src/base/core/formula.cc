// SPDX-License-Identifier: Apache-2.0
#include "core/formula.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace msprobe {
namespace {

constexpr std::array<std::string_view, 10> kFormulaStarts = {"+",  "-",  "=",  "%",  "@",
                                                             "＋", "－", "＝", "％", "＠"};

}  // namespace

bool starts_formula(std::string_view text) {
  // Most text starts with a letter; nothing that does is a formula.
  if (!text.empty() && std::isalnum(static_cast<unsigned char>(text.front())) != 0) return false;
  return std::ranges::any_of(kFormulaStarts,
                             [&](std::string_view start) { return text.starts_with(start); });
}

bool unsafe_name(std::string_view name) {
  if (starts_formula(name)) return true;
  for (std::size_t at = name.find(';'); at != std::string_view::npos; at = name.find(';', at + 1)) {
    if (starts_formula(name.substr(at + 1))) return true;
  }
  return false;
}

}  // namespace msprobe
