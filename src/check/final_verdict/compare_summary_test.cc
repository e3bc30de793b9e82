// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/compare_summary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::final_verdict {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

documented::ResultRow call(std::string name, Verdict forward, std::string strict = "") {
  documented::ResultRow row;
  row.api_name = std::move(name);
  row.forward = forward;
  row.strict_verdict = std::move(strict);
  return row;
}

TEST(CompareSummaryTest, ListsWrongCallsBeforeThoseThatOnlyTheDocumentsFlag) {
  CompareSummary summary(FailOn::kError);
  summary.add(call("Torch.a.0", Verdict::kError, "documented only"));
  summary.add(call("Torch.b.0", Verdict::kPass, "device wrong"));
  summary.add(call("Torch.c.0", Verdict::kWarning, "pass"));
  PrecisionOutcome outcome;
  outcome.calls = 3;
  outcome.strict.device_wrong = 1;
  outcome.strict.documented_only = 1;
  outcome.strict.pass = 1;
  outcome.forward.error = 1;
  const std::string text = summary.text(outcome, false);
  EXPECT_THAT(text, HasSubstr("strict verdict of 3 calls: 1 pass, 1 device wrong, 0 both wrong, 1 "
                              "documented only"));
  EXPECT_LT(text.find("Torch.b.0"), text.find("Torch.a.0"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("Torch.c.0")),
                          HasSubstr("3 calls compared, 1 fail; documented result: error")));
  EXPECT_THAT(summary.json(outcome), HasSubstr(R"("failing": 1)"));
}

TEST(CompareSummaryTest, TheStrictVerdictDecides) {
  CompareSummary summary(FailOn::kStrict);
  documented::ResultRow flagged = call("Torch.a.0", Verdict::kError, "documented only");
  flagged.strict = Verdict::kPass;
  summary.add(flagged);
  summary.add(call("Torch.b.0", Verdict::kSkip, "raised"));
  PrecisionOutcome outcome;
  outcome.calls = 2;
  outcome.strict.raised = 1;
  const std::string text = summary.text(outcome, false);
  EXPECT_THAT(text, AllOf(HasSubstr("1 call does not run on the device"), HasSubstr("Torch.b.0"),
                          Not(HasSubstr("Torch.a.0")), HasSubstr("2 calls compared, 1 fail; ")));
}

TEST(CompareSummaryTest, WarningsFailIfAskedFor) {
  CompareSummary summary(FailOn::kWarning);
  summary.add(call("Torch.c.0", Verdict::kWarning));
  EXPECT_THAT(summary.json({}), HasSubstr(R"("failing": 1)"));
  EXPECT_THAT(summary.json({}), Not(HasSubstr("strict")));
}

TEST(CompareSummaryTest, LongListsAreCut) {
  CompareSummary summary(FailOn::kError);
  for (int i = 0; i < 25; ++i) summary.add(call(fmt::format("Torch.mm.{}", i), Verdict::kError));
  EXPECT_THAT(summary.text({}, false), HasSubstr("... and 5 more\n"));
}

TEST(CompareSummaryTest, KeepsWhyTheFirstIsSkipped) {
  CompareSummary summary(FailOn::kError);
  EXPECT_EQ(summary.first_skip(), "");
  documented::ResultRow row = call("Torch.mm.0", Verdict::kSkip);
  row.message = "why";
  summary.add(row);
  summary.add(call("Torch.mm.1", Verdict::kSkip));
  EXPECT_EQ(summary.first_skip(), "Torch.mm.0: why");
}

}  // namespace
}  // namespace msprobe::final_verdict
