// SPDX-License-Identifier: Apache-2.0
#include "report/commands.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/shell_words.h"

namespace msprobe::report {
namespace {

namespace fs = std::filesystem;

// Their values are names, even if a file of that name is there.
constexpr auto kNames = std::to_array<std::string_view>({"-d", "--sim-profile", "--only"});

}  // namespace

std::string from_anywhere(std::string_view command, const fs::path& base) {
  std::string out;
  std::string_view option;  // the word before, if it is one
  while (!command.empty()) {
    const std::string_view word = next_shell_word(command);
    const fs::path path = unquoted(word);
    std::error_code error;
    const bool is_name = std::ranges::find(kNames, option) != kNames.end();
    const bool is_path =
        !option.empty() && !is_name && !path.is_absolute() && fs::exists(base / path, error);
    out += (out.empty() ? "" : " ") +
           (is_path ? shell_word(fs::absolute(base / path).lexically_normal().string())
                    : std::string(word));
    option = word.starts_with('-') ? word : std::string_view();
  }
  return out;
}

std::string shrink_command(std::string_view rerun) {
  constexpr std::string_view kCheck = "msprobe acc_check";
  constexpr std::string_view kOnly = " --only";
  // What shrink takes too; each has one value.
  constexpr auto kTaken = std::to_array<std::string_view>(
      {"-api_info", "-d", "--device-lib", "--sim-profile", "--sim-config", "--seed", "--threads"});
  if (!rerun.starts_with(kCheck) || !rerun.ends_with(kOnly)) return {};
  rerun.remove_prefix(kCheck.size());
  rerun.remove_suffix(kOnly.size());
  std::string out = "msprobe shrink";
  bool taking = false;
  while (!rerun.empty()) {
    const std::string_view word = next_shell_word(rerun);
    if (word.empty()) continue;
    if (word.starts_with('-')) taking = std::ranges::find(kTaken, word) != kTaken.end();
    if (taking) out += fmt::format(" {}", word);
  }
  return out + std::string(kOnly);
}

}  // namespace msprobe::report
