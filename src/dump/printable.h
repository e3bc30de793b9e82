// SPDX-License-Identifier: Apache-2.0
// Text out of a file, made fit for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace msprobe::dump {

// Control characters, and whatever is not UTF-8, become \xNN; more than `max_bytes` is cut.
std::string printable(std::string_view text, std::size_t max_bytes = 200);

bool is_utf8(std::string_view text);

// No control characters, and UTF-8 throughout.
bool is_printable(std::string_view text);

}  // namespace msprobe::dump
