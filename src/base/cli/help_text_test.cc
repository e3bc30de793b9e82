// SPDX-License-Identifier: Apache-2.0
#include "cli/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::cli {
namespace {

OptionRow option(std::vector<std::string> names, std::string value, std::string help,
                 std::string group) {
  return {.names = std::move(names),
          .value_name = std::move(value),
          .help = std::move(help),
          .group = std::move(group)};
}

CommandRow sample() {
  CommandRow command{"check", "Check every call.", "  msprobe check dump.json\n", {}};
  OptionRow dump = option({"-api_info", "--api_info_file"}, "DUMP", "the dump to check", "Input");
  dump.is_positional = true;
  OptionRow fail_on = option({"--fail-on"}, "TEXT", "what fails the run", "Verdicts");
  fail_on.choices = {"error", "warning"};
  fail_on.default_value = "error";
  OptionRow json = option({"--json"}, "FILE", "the summary as JSON", "Output");
  json.value_is_optional = true;
  OptionRow many = option({"-d", "--device"}, "DEVICE",
                          "where to run the calls, and a text that is long enough to need a second "
                          "line and then another one",
                          "Input");
  many.takes_many = true;
  command.options = {dump, many, fail_on, json, option({"-f"}, "", "only once", "Input")};
  return command;
}

TEST(HelpText, GroupsAliasesValuesAndDefaults) {
  EXPECT_EQ(help_text(sample(), "msprobe"),
            "Usage: msprobe check [options] [DUMP]\n"
            "\n"
            "Check every call.\n"
            "\n"
            "Input:\n"
            "  DUMP, -api_info, --api_info_file\n"
            "                          the dump to check\n"
            "  -d, --device DEVICE...  where to run the calls, and a text that is long enough\n"
            "                          to need a second line and then another one\n"
            "  -f                      only once\n"
            "\n"
            "Verdicts:\n"
            "  --fail-on {error,warning}\n"
            "                          what fails the run [default: error]\n"
            "\n"
            "Output:\n"
            "  --json[=FILE]           the summary as JSON\n"
            "\n"
            "Examples:\n"
            "  msprobe check dump.json\n");
}

TEST(HelpText, ManyChoicesAreListedAndWrapped) {
  CommandRow command = sample();
  OptionRow& row = command.options.back();
  row.names = {"--sim-profile"};
  row.value_name = "PROFILE";
  for (int i = 0; i < 30; ++i) row.choices.push_back("choice" + std::to_string(i));
  const std::string text = help_text(command, "msprobe");
  EXPECT_THAT(text, testing::HasSubstr("--sim-profile PROFILE"));
  EXPECT_THAT(text, testing::HasSubstr("choice29"));
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    EXPECT_LE(end - start, kHelpColumns) << text.substr(start, end - start);
    start = end + 1;
  }
}

TEST(HelpText, IsAsWideAsAsked) {
  EXPECT_THAT(help_text(sample(), "msprobe", 120),
              testing::HasSubstr("where to run the calls, and a text that is long enough to need a "
                                 "second line and then another\n"));
}

TEST(HelpText, ChoicesMayBeShownByAnotherCommand) {
  CommandRow command = sample();
  OptionRow& row = command.options.back();
  row.choices = {"1", "2", "3", "4", "5"};
  row.choices_shown_by = "msprobe help sim";
  EXPECT_EQ(option_meaning(row), "only once ('msprobe help sim' lists them)");
}

TEST(Wrap, BreaksAtSpacesOnly) {
  EXPECT_THAT(wrap("one two three", 7), testing::ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("extraordinary word", 4), testing::ElementsAre("extraordinary", "word"));
  EXPECT_THAT(wrap("", 10), testing::ElementsAre(""));
}

}  // namespace
}  // namespace msprobe::cli
