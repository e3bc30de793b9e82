// SPDX-License-Identifier: Apache-2.0
// Text out of a file, made fit for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace msprobe::dump {

// In one line, as visible_line() makes it; more than `max_bytes` is cut.
std::string printable(std::string_view text, std::size_t max_bytes = 200);

bool is_utf8(std::string_view text);

// Nothing in it that visible_line() would escape: names with other characters are not names of
// calls.
bool is_printable(std::string_view text);

}  // namespace msprobe::dump
