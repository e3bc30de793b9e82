// SPDX-License-Identifier: Apache-2.0
#include "report/commands.h"

#include <gtest/gtest.h>

#include "core/scratch_directory.h"

namespace msprobe::report {
namespace {

TEST(Commands, ShrinkTakesWhatItKnows) {
  EXPECT_EQ(shrink_command("msprobe acc_check -api_info d.json -d sim --sim-config s.yaml "
                           "--allow-tf32 --standards mine.yaml --seed 3 -j --only"),
            "msprobe shrink -api_info d.json -d sim --sim-config s.yaml --seed 3 --only");
  EXPECT_EQ(shrink_command("msprobe run_ut -forward f.json --only"), "");
  EXPECT_EQ(shrink_command("msprobe acc_check --only"), "msprobe shrink --only");
  EXPECT_EQ(shrink_command(""), "");
}

TEST(Commands, PathsWorkFromAnywhere) {
  const ScratchDirectory scratch;
  scratch.write("dump.json", "{}");
  scratch.write("sim", "a file, not the device");
  const std::string base = scratch.path().string();
  EXPECT_EQ(from_anywhere("msprobe acc_check -api_info ./dump.json -d sim --config-yaml gone.yaml "
                          "--data_path . --only",
                          scratch.path()),
            "msprobe acc_check -api_info " + base + "/dump.json -d sim --config-yaml gone.yaml " +
                "--data_path " + base + "/ --only");
  EXPECT_EQ(from_anywhere("msprobe acc_check -api_info /a/dump.json --only", scratch.path()),
            "msprobe acc_check -api_info /a/dump.json --only");
  scratch.write("a b.json", "{}");
  EXPECT_EQ(from_anywhere("msprobe acc_check -api_info 'a b.json' --only", scratch.path()),
            "msprobe acc_check -api_info '" + base + "/a b.json' --only");
  EXPECT_EQ(from_anywhere("", scratch.path()), "");
}

}  // namespace
}  // namespace msprobe::report
