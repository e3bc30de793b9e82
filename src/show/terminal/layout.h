// SPDX-License-Identifier: Apache-2.0
// Fields of text on lines of a given width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace msprobe::terminal {

// How text for a person is drawn.
struct Style {
  std::size_t columns = 80;
  bool colour = false;
};

enum class Paint : std::uint8_t { kPlain, kRed, kYellow, kGreen, kBold, kDim };

struct Field {
  std::string text;
  Paint paint = Paint::kPlain;
};

// Columns that UTF-8 text takes; every character counts as one.
std::size_t shown_width(std::string_view text);

// Control characters are replaced, so that no text of a file reaches the terminal as a command.
std::string painted(std::string_view text, Paint paint, bool colour);

// The fields `gap` columns apart; one that does not fit begins a further line, `indent` columns in.
// Words of a field that is wider than a line are wrapped. Empty fields are left out. Ends with a
// line break.
std::string flow(std::span<const Field> fields, std::size_t gap, std::size_t indent,
                 const Style& style);

}  // namespace msprobe::terminal
