// SPDX-License-Identifier: Apache-2.0
#include "report/scripts.h"

#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::report {
namespace {

TEST(Scripts, LieBesideTheDetails) {
  EXPECT_EQ(scripts_directory("out/accuracy_checking_details_1.csv"),
            "out/accuracy_checking_scripts_1");
}

TEST(Scripts, CallsGetTheirOwn) {
  const ScratchDirectory scratch;
  std::filesystem::create_directories(scratch.path() / "scripts/Torch.mm.0");
  std::filesystem::create_directories(scratch.path() / "outside");
  scratch.write("scripts/Torch.mm.0/reproduce.py", "import torch\n");
  scratch.write("outside/reproduce.py", "secret\n");
  ReportRun run;
  for (const char* name : {"Torch.mm.0", "Torch.mm.1", "../outside"}) {
    run.calls.emplace_back().name = name;
  }
  read_scripts(run, scratch.path() / "scripts");
  EXPECT_EQ(run.calls[0].script, "import torch\n");
  EXPECT_EQ(run.calls[1].script, "");
  EXPECT_EQ(run.calls[2].script, "");
}

TEST(Scripts, NoDirectoryIsNoFault) {
  ReportRun run;
  run.calls.emplace_back().name = "Torch.mm.0";
  read_scripts(run, "/nowhere");
  EXPECT_EQ(run.calls[0].script, "");
}

}  // namespace
}  // namespace msprobe::report
