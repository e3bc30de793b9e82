// SPDX-License-Identifier: Apache-2.0
// Words of a command line as a person pastes it into a shell: paths may have blanks, brackets and
// quotes.
#pragma once

#include <string>
#include <string_view>

namespace msprobe {

// The text as one word, in single quotes where the shell would read it otherwise.
std::string shell_word(std::string_view text);

// The word up to the next blank outside of quotes, as it is written, taken off `command`.
std::string_view next_shell_word(std::string_view& command);

// What a word stands for: without its quotes.
std::string unquoted(std::string_view word);

}  // namespace msprobe
