// SPDX-License-Identifier: Apache-2.0
#include "shrink/probe.h"

#include <gtest/gtest.h>

namespace msprobe::shrink {
namespace {

TEST(KeepsCause, GoesByItsKindNotByItsNumbers) {
  EXPECT_TRUE(keeps_cause("lost terms: sums without the last 16 of 512 leave 0 of the error",
                          "lost terms: sums without the last 1 of 2 leave 0 of the error"));
  EXPECT_FALSE(keeps_cause("lost terms: sums without the last 16 of 512 leave 0 of the error",
                           "lost: everything is zero"));
  EXPECT_TRUE(keeps_cause("wrong scale: 2 times the benchmark; gradient only",
                          "wrong scale: 2 times the benchmark"));
}

TEST(KeepsCause, LessThatIsBadIsBadToo) {
  EXPECT_TRUE(keeps_cause("bad tile: (16..31, 16..31)", "one bad element: (16, 16)"));
  EXPECT_FALSE(keeps_cause("bad tile: (16..31, 16..31)", ""));
}

TEST(KeepsCause, OneNanIsLessOfMany) {
  EXPECT_TRUE(keeps_cause("NaN or Inf spread: 40 NaN, 0 Inf; bad row: index 1 of dimension 0",
                          "NaN or Inf: one element, (0, 0), is NaN"));
}

TEST(KeepsCause, WhereNoneWasKnownAnyWillDo) {
  EXPECT_TRUE(keeps_cause("", "wrong scale: 2 times the benchmark"));
}

}  // namespace
}  // namespace msprobe::shrink
