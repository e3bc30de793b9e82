// SPDX-License-Identifier: Apache-2.0
#include "terminal/layout.h"

#include <vector>

#include <gtest/gtest.h>

namespace msprobe::terminal {
namespace {

TEST(Layout, FieldsThatDoNotFitBeginAFurtherLine) {
  const std::vector<Field> fields{{"FAIL"}, {"Torch.matmul.0"}, {""}, {"forward"}, {"lost terms"}};
  EXPECT_EQ(flow(fields, 3, 2, {.columns = 80}), "FAIL   Torch.matmul.0   forward   lost terms\n");
  EXPECT_EQ(flow(fields, 3, 2, {.columns = 32}), "FAIL   Torch.matmul.0   forward\n  lost terms\n");
  EXPECT_EQ(flow(fields, 3, 2, {.columns = 31}), "FAIL   Torch.matmul.0   forward\n  lost terms\n");
  EXPECT_EQ(flow(fields, 3, 2, {.columns = 30}), "FAIL   Torch.matmul.0\n  forward   lost terms\n");
}

TEST(Layout, AWideFieldIsWrapped) {
  const std::vector<Field> fields{{"next:"}, {"msprobe shrink dump/step0/rank0/dump.json -d sim"}};
  EXPECT_EQ(flow(fields, 1, 2, {.columns = 22}),
            "next: msprobe shrink\n  dump/step0/rank0/dump.json\n  -d sim\n");
}

TEST(Layout, CharactersAreCountedNotBytes) { EXPECT_EQ(shown_width("█▌ é"), 4U); }

TEST(Layout, TextOfAFileIsNoCommandToTheTerminal) {
  EXPECT_EQ(painted("a\033[2Jb", Paint::kRed, false), "a\\x1b[2Jb");
  EXPECT_EQ(painted("a\nb", Paint::kRed, true), "\033[31ma\\x0ab\033[0m");
  EXPECT_EQ(painted("plain", Paint::kPlain, true), "plain");
}

}  // namespace
}  // namespace msprobe::terminal
