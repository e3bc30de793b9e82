// "did you mean": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace msprobe {

// The candidate within a third of its length in edits (insert, delete, replace, swap); empty: none
// is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace msprobe
