// SPDX-License-Identifier: Apache-2.0
#include "report/overall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::report {
namespace {

using testing::ElementsAre;

void add_wrong_call(ReportRun& run, const std::string& name, double size, const std::string& line) {
  ReportCall& call = run.calls.emplace_back();
  call.name = name;
  call.api = "Torch.mm";
  call.forward = Verdict::kPass;
  call.strict = Verdict::kError;
  call.site.line = line;
  call.first_row = run.rows.size();
  call.row_count = 1;
  ReportRow& row = run.rows.emplace_back();
  row.status = Verdict::kPass;
  row.strict = Verdict::kError;
  row.error_over_bound = size;
  row.likely_cause = "lost terms: sums without the last 4 of 16";
}

TEST(Overall, CountsOverAllDumps) {
  ReportRun one;
  add_wrong_call(one, "Torch.mm.0", 70, "a.py:1");
  one.passed_apis = {{"Torch.mm", 2}};
  ReportRun other;
  add_wrong_call(other, "Torch.mm.0", 90, "a.py:1");
  add_wrong_call(other, "Torch.mm.1", 80, "a.py:2");
  other.passed_apis = {{"Torch.mm", 1}, {"Torch.add", 5}};
  ReportRun right;
  right.passed_apis = {{"Torch.mm", 3}};
  const Overall overall = overall_of({&one, &other, &right});
  EXPECT_EQ(overall.answer.dumps, 3U);
  EXPECT_EQ(overall.answer.checked, 14U);
  ASSERT_EQ(overall.answer.apis.size(), 1U);
  EXPECT_EQ(overall.answer.apis[0].wrong, 3U);
  EXPECT_EQ(overall.answer.apis[0].total, 9U);
  ASSERT_EQ(overall.answer.cards.size(), 1U);
  const CauseCard& card = overall.answer.cards[0];
  EXPECT_EQ(card.calls, 3U);
  EXPECT_EQ(card.dumps, 2U);
  EXPECT_EQ(card.worst, 90);
  EXPECT_EQ(card.worst_call, 1U);
  EXPECT_THAT(card.lines, ElementsAre("a.py:1", "a.py:2"));
}

TEST(Overall, ALineIsCountedOnce) {
  ReportRun run;
  for (const char* line : {"a.py:1", "a.py:2", "a.py:3", "a.py:4", "a.py:4", "a.py:5"}) {
    add_wrong_call(run, "Torch.mm.0", 70, line);
  }
  EXPECT_EQ(answer_of(run).cards[0].more_lines, 2U);
}

}  // namespace
}  // namespace msprobe::report
