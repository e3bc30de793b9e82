// SPDX-License-Identifier: Apache-2.0
#include "overflow/overflow_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::overflow {
namespace {

using ::testing::HasSubstr;

TEST(OverflowSummary, StatusCountsWhatTheDeviceDidAndWhatWasLost) {
  OverflowOutcome outcome;
  EXPECT_EQ(status_of(outcome, false), OverflowStatus::kNothingChecked);
  outcome.normal = 3;
  EXPECT_EQ(status_of(outcome, true), OverflowStatus::kPassed);
  outcome.cpu_only = 1;
  EXPECT_EQ(status_of(outcome, false), OverflowStatus::kPassed);
  EXPECT_EQ(status_of(outcome, true), OverflowStatus::kFailed);
  outcome.abnormal = 1;
  EXPECT_EQ(status_of(outcome, false), OverflowStatus::kFailed);
  outcome.interrupted = true;
  EXPECT_EQ(status_of(outcome, false), OverflowStatus::kNothingChecked);
  outcome = {};
  outcome.lost = 1;
  EXPECT_EQ(status_of(outcome, false), OverflowStatus::kFailed);
}

TEST(OverflowSummary, NamesTheFirstAbnormalCalls) {
  OverflowOutcome outcome;
  outcome.device = "sim:0";
  outcome.abnormal = 3;
  outcome.normal = 2;
  outcome.abnormal_names = {"Torch.exp.0", "Torch.exp.1"};
  EXPECT_EQ(summary_text(outcome),
            "sim:0: 3 calls overflow on the device although the data do not: look at the device\n"
            "sim:0: 3 abnormal, 2 normal, 0 not reproduced, 0 on the CPU only, 0 skipped\n"
            "  abnormal: Torch.exp.0\n  abnormal: Torch.exp.1\n  and 1 more\n");
  const auto sentence = [&] {
    return summary_text(outcome).substr(0, summary_text(outcome).find('\n'));
  };
  outcome.abnormal = 0;
  EXPECT_EQ(
      sentence(),
      "sim:0: 2 calls overflow because of the data, on the CPU too; the device is not at fault");
  outcome.normal = 0;
  EXPECT_EQ(sentence(), "sim:0: nothing was checked");
  outcome.not_reproduced = 1;
  EXPECT_EQ(sentence(), "sim:0: no call overflows");
  outcome.abnormal = 3;
  outcome.normal = 2;
  outcome.not_reproduced = 0;
  const std::string json = summary_json(outcome, "out/a.csv", 1);
  EXPECT_THAT(json, HasSubstr(R"("exit_status": 1)"));
  EXPECT_THAT(json, HasSubstr(R"("checked": 5)"));
  EXPECT_THAT(json, HasSubstr(R"("result_csv": "out/a.csv")"));
}

}  // namespace
}  // namespace msprobe::overflow
