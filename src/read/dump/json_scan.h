// SPDX-License-Identifier: Apache-2.0
// Finds where JSON values end without looking at what they mean: what makes the top level of a
// large file cheap.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace msprobe::dump {

constexpr std::size_t kNoEnd = std::string_view::npos;

// One behind the bracket that closes the container whose opening bracket is at `start`; kNoEnd
// if the text ends before. Brackets inside strings do not count; their kinds are not compared. A
// backslash outside a string, which JSON does not have, hides a quote behind it.
std::size_t container_end(std::string_view text, std::size_t start);

// The plain loop that defines container_end.
std::size_t container_end_reference(std::string_view text, std::size_t start);

// One behind the quote that closes the string whose opening quote is at `start`, or kNoEnd.
std::size_t string_end(std::string_view text, std::size_t start);

// The first place at or behind `at` that is not white space; text.size() if there is none.
std::size_t skip_space(std::string_view text, std::size_t at);

// One behind the number or word at `start`: the next white space, comma, colon, bracket or quote.
std::size_t scalar_end(std::string_view text, std::size_t start);

// The first closing bracket that does not fit the one it would close. It remembers every open
// bracket, so it is for files that are already known to be broken; beyond a million it gives up.
struct BracketMismatch {
  std::size_t open_at, close_at;
};
std::optional<BracketMismatch> find_mismatch(std::string_view text);

}  // namespace msprobe::dump
