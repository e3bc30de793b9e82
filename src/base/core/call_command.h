// SPDX-License-Identifier: Apache-2.0
// The command that checks one call of a recording again: "msprobe acc_check -api_info dump.json
// -d sim --only Torch.matmul.0". It is kept as words, here and in files; text is made of it at the
// end, for a person who pastes it into a shell.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe {

class CallCommand {
 public:
  struct Option {
    std::string name;
    std::string value;  // empty: it has none
    bool operator==(const Option&) const = default;
  };

  CallCommand() = default;
  // Of a command of msprobe; without options yet.
  explicit CallCommand(std::string command) : command_(std::move(command)) {}

  // An option with its value; nothing if the value is empty.
  CallCommand& add(std::string_view name, const std::string& value);
  CallCommand& add_flag(std::string_view name);

  bool empty() const { return command_.empty(); }
  // Empty if it has no such option.
  const std::string& value_of(std::string_view name) const;
  // The recording that it reads; empty: none is named.
  const std::string& recording() const;

  // All words but the name of the call: "msprobe", "acc_check", "-api_info", ...
  std::vector<std::string> words() const;
  // The words that parse() takes; empty if they are not such a command: not msprobe's, an unknown
  // option, a value that no option would have. The name of a call at their end is left out.
  static std::optional<CallCommand> parse(std::span<const std::string> words);

  // For a shell. An empty command has an empty text.
  std::string text() const;
  std::string text_for(std::string_view call) const;

  // With absolute paths, so that it works in any directory. `base` is the directory in which it was
  // given. Values that are not there stay as they are.
  CallCommand from_anywhere(const std::filesystem::path& base) const;
  // "msprobe shrink" with the options that it takes too; empty if this is not of acc_check.
  CallCommand as_shrink() const;
  // Without options that load code, unless `trusted` has the same: what a file names is not loaded.
  CallCommand without_code(const CallCommand& trusted) const;

  bool operator==(const CallCommand&) const = default;

 private:
  std::string command_;  // "acc_check"; empty: there is none
  std::vector<Option> options_;
};

}  // namespace msprobe
