// SPDX-License-Identifier: Apache-2.0
// Words of a command line as a person pastes it into a shell. Every command that the program shows
// is made here: names of calls and paths come from files and from other people, and may hold
// anything.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe {

// The text as one word of a POSIX shell: as it is, in single quotes, or, where it has characters
// that a person cannot see, made by printf, so that visible_line() leaves the command as it is.
// Only line feeds at the very end, which a shell would take off such a word, stay what they are.
std::string shell_word(std::string_view text);

// The same for a path, which may begin with a dash: "./-x" is no option.
std::string shell_path(const std::filesystem::path& path);

// The words with blanks between them.
std::string shell_command(std::span<const std::string> words);

// The words of such a command, unquoted. Empty if the text means more to a shell than words: then
// it was not made here. Words made by printf are not read back.
std::optional<std::vector<std::string>> shell_split(std::string_view command);

}  // namespace msprobe
