// SPDX-License-Identifier: Apache-2.0
// "did you mean": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace msprobe {

// The candidate within a third of its length in edits (insert, delete, replace, swap); empty: none
// is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean white_list?", or nothing where none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace msprobe
