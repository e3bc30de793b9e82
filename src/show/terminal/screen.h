// SPDX-License-Identifier: Apache-2.0
// The abilities of a terminal: the other files of this folder make text for it.
#pragma once

#include <cstddef>

namespace msprobe::terminal {

struct Screen {
  bool is_terminal = false;
  bool redraws = false;  // a line can be drawn again in place: not with TERM=dumb
  bool colour = false;   // not with NO_COLOR
  std::size_t columns = 80;
};

// The width is that of COLUMNS, else of the terminal, else 80; of a pipe or file without COLUMNS
// lines are not wrapped.
Screen screen_of(int descriptor);

}  // namespace msprobe::terminal
