// SPDX-License-Identifier: Apache-2.0
// Text for people: terminal, log, cells of tables, reports. What comes out of a file must not
// command the terminal, reorder a line or hide in it.
#pragma once

#include <string>
#include <string_view>

namespace msprobe {

// Control characters (U+0000 to U+001F, U+007F to U+009F), characters that change the direction of
// writing, those of no width, line separators, and bytes that are not UTF-8 become escapes: \x1b,
// \u202e. Tab, line feed and CR LF stay. Every script stays as it is: the joiners U+200C and U+200D
// stay between characters of scripts that need them (Arabic to Khmer, emoji).
std::string visible_text(std::string_view text);

// The same in one line: tab and line ends become escapes, too.
std::string visible_line(std::string_view text);

// Whether visible_line() leaves the text as it is.
bool is_visible_line(std::string_view text);

// One character of a text.
struct Character {
  std::string_view bytes;
  char32_t code = 0;
  bool is_hidden = false;  // visible_text() escapes it
  bool is_utf8 = true;     // else it is one byte
};

// The character at the start of `text`; `before` is the one before it, 0 at the start of a text.
// REQUIRES: text is not empty.
Character next_character(std::string_view text, char32_t before);

}  // namespace msprobe
