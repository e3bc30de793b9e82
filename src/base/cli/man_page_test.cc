// SPDX-License-Identifier: Apache-2.0
#include "cli/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::cli {
namespace {

using testing::HasSubstr;

CommandRow command() {
  CommandRow row{"acc_check", "Replay every call.", "  msprobe acc_check -o out", {}};
  row.options.push_back({.value_name = "DUMP", .help = "the dump", .is_positional = true});
  row.options.push_back({.names = {"-o", "--out_path"},
                         .value_name = "DIR",
                         .help = "where C:\\results go",
                         .group = "Output",
                         .default_value = "./"});
  return row;
}

TEST(ManPage, ListsOptionsUnderTheirHeadings) {
  const std::string page = man_page(command(), "msprobe", "1.2");
  EXPECT_THAT(page, HasSubstr(".TH \"msprobe-acc_check\" 1 \"\" \"msprobe 1.2\"\n"));
  EXPECT_THAT(page, HasSubstr("msprobe\\-acc_check \\- Replay every call.\n"));
  EXPECT_THAT(page, HasSubstr(".SH \"Output\"\n.TP\n\\fB\\-o, \\-\\-out_path DIR\\fR\n"));
  EXPECT_THAT(page, HasSubstr("[default: ./]"));
  EXPECT_THAT(page, HasSubstr(".I DUMP\n"));
}

TEST(ManPage, TextIsNeverTakenForRequests) {
  CommandRow row = command();
  row.options[1].help = ".hidden 'quoted' \\n";
  EXPECT_THAT(man_page(row, "msprobe", "1.2"), HasSubstr("\n\\&.hidden 'quoted' \\en"));
}

TEST(ManPage, TheProgramNamesItsCommands) {
  const CommandRow rows[] = {command()};
  const std::string page = man_page("msprobe", "1.2", "checks a device", rows);
  EXPECT_THAT(page,
              HasSubstr("\\fBacc_check\\fR\nReplay every call. See msprobe\\-acc_check(1).\n"));
}

}  // namespace
}  // namespace msprobe::cli
