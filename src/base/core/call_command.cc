// SPDX-License-Identifier: Apache-2.0
#include "core/call_command.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>

#include "core/look_up.h"
#include "core/shell_words.h"
#include "core/visible_text.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

bool is_missing(const fs::path& path) {
  const Result<bool> there = is_there(path);
  return there && !*there;
}

constexpr std::string_view kProgram = "msprobe";
constexpr std::string_view kCheck = "acc_check";
constexpr std::string_view kShrink = "shrink";
constexpr std::string_view kOnly = "--only";
constexpr auto kCommands = std::to_array<std::string_view>({kCheck, kShrink, "run_ut"});

enum class Takes : std::uint8_t { kNothing, kName, kPath, kCode };  // code: a path that is loaded

// Every option that such a command may have.
struct KnownOption {
  std::string_view name;
  Takes takes;
  bool shrink = false;  // shrink takes it, too
};
constexpr auto kOptions = std::to_array<KnownOption>({{"-api_info", Takes::kPath, true},
                                                      {"-forward", Takes::kPath},
                                                      {"-backward", Takes::kPath},
                                                      {"-d", Takes::kName, true},
                                                      {"--data_path", Takes::kPath},
                                                      {"--device-lib", Takes::kCode, true},
                                                      {"--reference", Takes::kCode, true},
                                                      {"--kernel", Takes::kCode, true},
                                                      {"--sim-profile", Takes::kName, true},
                                                      {"--sim-config", Takes::kPath, true},
                                                      {"--allow-tf32", Takes::kNothing},
                                                      {"--hf32", Takes::kNothing},
                                                      {"--card", Takes::kPath},
                                                      {"--unit", Takes::kName},
                                                      {"-config", Takes::kPath},
                                                      {"--config-yaml", Takes::kPath},
                                                      {"--standards", Takes::kPath},
                                                      {"--seed", Takes::kName, true},
                                                      {"--threads", Takes::kName, true},
                                                      {"-j", Takes::kNothing}});

const KnownOption* find_option(std::string_view name) {
  const auto* found = std::ranges::find(kOptions, name, &KnownOption::name);
  return found == kOptions.end() ? nullptr : found;
}

bool is_path(const KnownOption& known) {
  return known.takes == Takes::kPath || known.takes == Takes::kCode;
}

// Of a value that a file names. add() puts "./" before a path that begins with a dash.
bool is_possible(std::string_view value) {
  return !value.empty() && !value.starts_with('-') && is_visible_line(value);
}

// What --only is given: a name that begins with a dash would be taken for an option.
std::string only_word(std::string_view call) {
  const std::string name = shell_word(call);
  return std::string(kOnly) + (call.starts_with('-') ? "=" : " ") + name;
}

}  // namespace

CallCommand& CallCommand::add(std::string_view name, const std::string& value) {
  assert(find_option(name) != nullptr && find_option(name)->takes != Takes::kNothing);
  if (value.empty()) return *this;
  options_.push_back({std::string(name), value.starts_with('-') ? "./" + value : value});
  return *this;
}

CallCommand& CallCommand::add_flag(std::string_view name) {
  assert(find_option(name) != nullptr && find_option(name)->takes == Takes::kNothing);
  options_.push_back({std::string(name), {}});
  return *this;
}

const std::string& CallCommand::value_of(std::string_view name) const {
  static const std::string none;
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? none : found->value;
}

const std::string& CallCommand::recording() const {
  const std::string& dump = value_of("-api_info");
  return dump.empty() ? value_of("-forward") : dump;
}

std::vector<std::string> CallCommand::words() const {
  if (empty()) return {};
  std::vector<std::string> words{std::string(kProgram), command_};
  for (const Option& option : options_) {
    words.push_back(option.name);
    if (!option.value.empty()) words.push_back(option.value);
  }
  return words;
}

std::optional<CallCommand> CallCommand::parse(std::span<const std::string> words) {
  if (words.size() < 2 || words[0] != kProgram) return std::nullopt;
  if (std::ranges::find(kCommands, words[1]) == kCommands.end()) return std::nullopt;
  CallCommand command(words[1]);
  for (std::size_t i = 2; i < words.size(); ++i) {
    // The call: nothing follows it.
    if (words[i] == kOnly && i + 2 >= words.size()) return command;
    if (words[i].starts_with("--only=") && i + 1 == words.size()) return command;
    const KnownOption* known = find_option(words[i]);
    if (known == nullptr) return std::nullopt;
    if (known->takes == Takes::kNothing) {
      command.add_flag(words[i]);
    } else if (i + 1 == words.size() || !is_possible(words[i + 1])) {
      return std::nullopt;
    } else {
      command.add(words[i], words[i + 1]);
      ++i;
    }
  }
  return command;
}

std::string CallCommand::text() const { return shell_command(words()); }

std::string CallCommand::text_for(std::string_view call) const {
  return empty() ? std::string() : text() + " " + only_word(call);
}

CallCommand CallCommand::from_anywhere(const fs::path& base) const {
  CallCommand absolute = *this;
  for (Option& option : absolute.options_) {
    const KnownOption* known = find_option(option.name);
    const fs::path path = option.value;
    if (!is_path(*known) || path.is_absolute() || is_missing(base / path)) continue;
    option.value = fs::absolute(base / path).lexically_normal().string();
  }
  return absolute;
}

CallCommand CallCommand::as_shrink() const {
  if (command_ != kCheck) return {};
  CallCommand shrink = *this;
  shrink.command_ = kShrink;
  std::erase_if(shrink.options_,
                [](const Option& option) { return !find_option(option.name)->shrink; });
  return shrink;
}

CallCommand CallCommand::without_code(const CallCommand& trusted) const {
  CallCommand command = *this;
  std::erase_if(command.options_, [&](const Option& option) {
    return find_option(option.name)->takes == Takes::kCode &&
           option.value != trusted.value_of(option.name);
  });
  return command;
}

}  // namespace msprobe
