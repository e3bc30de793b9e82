// SPDX-License-Identifier: Apache-2.0
// Shows the progress of a long job on one line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace msprobe::terminal {

struct Progress {
  std::size_t first = 0;  // items that were done at the start
  std::size_t done = 0;
  std::size_t total = 0;
  std::size_t failed = 0;
  double seconds = 0;  // since the start
};

// The widest bar; a wider terminal gets no longer one.
inline constexpr std::size_t kBarColumns = 75;

// "Processing:  45%|████▌     | 450/1000 [00:12<00:15, 36.5/s]", at most `columns` wide, with
// "3 failed" if something has. Where that is too wide, the rate, the times and the label are left
// out.
std::string progress_text(std::string_view label, const Progress& progress, std::size_t columns);

}  // namespace msprobe::terminal
