// SPDX-License-Identifier: Apache-2.0
// Log lines: "YYYY-MM-DD HH:MM:SS (pid) [LEVEL] text" on stderr, control characters replaced.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace msprobe::log {

enum class Severity { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kSilent = 4 };

// Takes the level from MSPROBE_LOG_LEVEL (0 debug .. 4 nothing; default 1) and decides on colour
// (only on a terminal, never with NO_COLOR or TERM=dumb). Called once, by main.
void start();

// Nothing below warnings from here on, unless MSPROBE_LOG_LEVEL says otherwise.
void only_warnings();

// Whether MSPROBE_LOG_LEVEL is set: then the log has every line that it asks for.
bool level_was_asked_for();

void write(Severity level, std::string_view text);

template <class... T>
void info(fmt::format_string<T...> format, T&&... arguments) {
  write(Severity::kInfo, fmt::format(format, std::forward<T>(arguments)...));
}
template <class... T>
void warning(fmt::format_string<T...> format, T&&... arguments) {
  write(Severity::kWarning, fmt::format(format, std::forward<T>(arguments)...));
}
template <class... T>
void error(fmt::format_string<T...> format, T&&... arguments) {
  write(Severity::kError, fmt::format(format, std::forward<T>(arguments)...));
}
template <class... T>
void debug(fmt::format_string<T...> format, T&&... arguments) {
  write(Severity::kDebug, fmt::format(format, std::forward<T>(arguments)...));
}

// One record stays one line: line ends, tab, backspace and delete, and their URL spellings (%08 %0a
// %0b %0c %0d %7f), become '_', as documented; of the rest, what visible_line() would escape.
std::string clean(std::string_view text);

// Whether text for a person may be coloured on this descriptor: a terminal that is not dumb, and
// NO_COLOR is not set.
bool colour(int descriptor);

}  // namespace msprobe::log
