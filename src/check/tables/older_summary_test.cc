// SPDX-License-Identifier: Apache-2.0
#include "tables/older_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::tables {
namespace {

using ::testing::ContainsRegex;

TEST(OlderSummary, CountsByTheDirectionThatFails) {
  const ScratchDirectory scratch;
  const auto csv = scratch.write("result.csv",
                                 "\xEF\xBB\xBF"
                                 "API name,Forward Test Success,Backward Test Success,Message\r\n"
                                 "Tensor*add*0,True,N/A,\r\n"
                                 "Tensor*add*1,True,True,\r\n"
                                 "Tensor*add*2,False,True,\r\n"
                                 "Tensor*add*3,True,False,\r\n"
                                 "Tensor*add*4,False,False,\r\n"
                                 "Tensor*add*5,SKIP,SKIP,\r\n");
  const std::string text = older_summary(csv, false).value();
  EXPECT_THAT(text, ContainsRegex("Total Pass +Total Fail +Passing Rate +Skipped"));
  EXPECT_THAT(text, ContainsRegex("\n2 +3 +40.00% +1"));
  EXPECT_THAT(text, ContainsRegex("Forward Fail +Backward Fail +Both Fail"));
  EXPECT_THAT(text, ContainsRegex("\n1 +1 +1"));
}

TEST(OlderSummary, AFileThatCannotBeReadIsAnError) {
  EXPECT_FALSE(older_summary("/nowhere/result.csv", false));
}

}  // namespace
}  // namespace msprobe::tables
