// SPDX-License-Identifier: Apache-2.0
#include "cli/help_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace msprobe::cli {
namespace {

constexpr std::size_t kHelpColumn = 26;        // where the explanation of an option begins
constexpr std::size_t kMostInlineChoices = 4;  // more are listed below the explanation

bool has_inline_choices(const OptionRow& row) {
  return !row.choices.empty() && row.choices.size() <= kMostInlineChoices;
}

std::string value_text(const OptionRow& row) {
  const std::string value =
      has_inline_choices(row) ? fmt::format("{{{}}}", fmt::join(row.choices, ",")) : row.value_name;
  if (row.value_is_optional) return fmt::format("[={}]", value);
  return (row.names.empty() ? "" : " ") + value + (row.takes_many ? "..." : "");
}

std::string option_text(const OptionRow& row, std::size_t columns) {
  std::string text = "  " + option_words(row);
  const bool beside = text.size() + 2 <= kHelpColumn;
  if (!beside) text += '\n';
  bool first = beside;
  for (const std::string& line : wrap(option_meaning(row), columns - kHelpColumn)) {
    text.append(first ? kHelpColumn - text.size() : kHelpColumn, ' ');
    text += line + '\n';
    first = false;
  }
  return text;
}

std::string usage(const CommandRow& command, std::string_view program) {
  std::string text = fmt::format("Usage: {} {} [options]", program, command.name);
  for (const OptionRow& row : command.options) {
    if (!row.is_positional) continue;
    const std::string value = row.value_name + (row.takes_many ? "..." : "");
    text += row.is_required ? fmt::format(" {}", value) : fmt::format(" [{}]", value);
  }
  return text + "\n";
}

}  // namespace

std::vector<std::string> groups_of(const std::vector<OptionRow>& rows) {
  std::vector<std::string> groups;
  for (const OptionRow& row : rows) {
    if (std::ranges::find(groups, row.group) == groups.end()) groups.push_back(row.group);
  }
  return groups;
}

std::string option_words(const OptionRow& row) {
  if (row.is_positional && !row.names.empty()) {
    return fmt::format("{}, {}", row.value_name, fmt::join(row.names, ", "));
  }
  if (row.is_flag()) return fmt::format("{}", fmt::join(row.names, ", "));
  return fmt::format("{}{}", fmt::join(row.names, ", "), value_text(row));
}

std::string option_meaning(const OptionRow& row) {
  std::string text = row.help;
  if (!row.choices_shown_by.empty()) {
    text += fmt::format(" ('{}' lists them)", row.choices_shown_by);
  } else if (!row.choices.empty() && !has_inline_choices(row)) {
    text += fmt::format(": {}", fmt::join(row.choices, ", "));
  }
  if (row.is_required && !row.is_positional) text += " (required)";
  if (!row.default_value.empty()) text += fmt::format(" [default: {}]", row.default_value);
  return text;
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!line.empty() && line.size() + 1 + word.size() > columns) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  lines.push_back(std::move(line));
  return lines;
}

std::string help_text(const CommandRow& command, std::string_view program, std::size_t columns) {
  std::string text = usage(command, program) + "\n";
  for (const std::string& line : wrap(command.summary, columns)) text += line + '\n';
  for (const std::string& group : groups_of(command.options)) {
    text += fmt::format("\n{}:\n", group);
    for (const OptionRow& row : command.options) {
      if (row.group == group) text += option_text(row, columns);
    }
  }
  if (!command.examples.empty()) text += "\nExamples:\n" + command.examples;
  return text;
}

}  // namespace msprobe::cli
