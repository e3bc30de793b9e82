// SPDX-License-Identifier: Apache-2.0
#include "terminal/screen.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/log.h"

namespace msprobe::terminal {
namespace {

constexpr std::size_t kFewestColumns = 20;
constexpr std::size_t kMostColumns = 1000;
constexpr std::size_t kDefaultColumns = 80;

std::size_t named_columns() {
  const char* text = std::getenv("COLUMNS");
  if (text == nullptr) return 0;
  const std::string_view digits(text);
  std::size_t columns = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  const bool whole = error == std::errc() && rest == digits.data() + digits.size();
  return whole ? columns : 0;
}

std::size_t columns_of(int descriptor) {
  std::size_t columns = named_columns();
  winsize size{};
  // Of a pipe or a file, a line for each call is easier to search than wrapped text.
  if (columns == 0 && ::isatty(descriptor) == 0) return kMostColumns;
  if (columns == 0 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (columns == 0) return kDefaultColumns;
  return columns < kFewestColumns ? kFewestColumns
                                  : (columns > kMostColumns ? kMostColumns : columns);
}

}  // namespace

Screen screen_of(int descriptor) {
  const char* kind = std::getenv("TERM");
  const bool is_terminal = ::isatty(descriptor) == 1;
  return {.is_terminal = is_terminal,
          .redraws = is_terminal && !(kind != nullptr && std::string_view(kind) == "dumb"),
          .colour = log::colour(descriptor),
          .columns = columns_of(descriptor)};
}

}  // namespace msprobe::terminal
