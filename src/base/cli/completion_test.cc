// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::cli {
namespace {

using testing::HasSubstr;

std::vector<CommandRow> sample_commands() {
  OptionRow dump{.names = {"-api_info", "--api_info_file"},
                 .value_name = "DUMP",
                 .help = "the dump.json (or its directory)",
                 .group = {},
                 .is_positional = true};
  OptionRow fail_on{.names = {"--fail-on"},
                    .value_name = "TEXT",
                    .help = "what's counted: as failed [now]",
                    .group = {},
                    .choices = {"error", "warning"}};
  OptionRow out{.names = {"-o", "--out_path"}, .value_name = "DIR", .help = "output", .group = {}};
  OptionRow flag{.names = {"-f"}, .value_name = {}, .help = "filter", .group = {}};
  return {{"check", "Check it.", "", {dump, fail_on, out, flag}}, {"help", "Show help.", "", {}}};
}

TEST(Completion, EveryShellGetsEveryCommandAndOption) {
  for (const std::string& shell : completion_shells()) {
    const std::string script = completion_script(shell, "msprobe", sample_commands());
    for (const char* word : {"check", "fail-on", "api_info", "out_path", "error", "warning"}) {
      EXPECT_THAT(script, HasSubstr(word)) << shell;
    }
  }
}

TEST(Completion, ValuesFollowTheNamesOfTheHelpText) {
  const std::string bash = completion_script("bash", "msprobe", sample_commands());
  EXPECT_THAT(bash, HasSubstr("'check -o'|'check --out_path') compopt -o filenames; "
                              "COMPREPLY=($(compgen -d"));
  EXPECT_THAT(bash, HasSubstr("'check --fail-on') COMPREPLY=($(compgen -W 'error warning'"));
  const std::string fish = completion_script("fish", "msprobe", sample_commands());
  EXPECT_THAT(fish, HasSubstr("-o api_info -l api_info_file -rF -d 'the dump.json '"));
}

TEST(Completion, QuotesAndBracketsOfExplanationsAreEscaped) {
  EXPECT_THAT(completion_script("zsh", "msprobe", sample_commands()),
              HasSubstr("'*--fail-on[what'\\''s counted\\: as failed \\[now\\]]:TEXT:(error "
                        "warning)'"));
}

}  // namespace
}  // namespace msprobe::cli
