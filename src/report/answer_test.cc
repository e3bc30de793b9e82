// SPDX-License-Identifier: Apache-2.0
#include "report/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::report {
namespace {

using testing::ElementsAre;
using testing::Pair;

// A call of one row.
void add(ReportRun& run, std::string name, std::string api, Verdict status, Verdict strict,
         std::string reason, std::string cause) {
  ReportCall call;
  call.name = std::move(name);
  call.api = std::move(api);
  call.forward = status;
  call.strict = strict;
  call.first_row = run.rows.size();
  call.row_count = 1;
  ReportRow row;
  row.part = "forward.output.0";
  row.status = status;
  row.strict = strict;
  row.strict_reason = std::move(reason);
  row.likely_cause = std::move(cause);
  if (status == Verdict::kSkip) call.message = row.strict_reason;
  run.rows.push_back(std::move(row));
  run.calls.push_back(std::move(call));
}

ReportRun sample() {
  ReportRun run;
  add(run, "Torch.mm.0", "Torch.mm", Verdict::kError, Verdict::kError,
      "9 of 9 elements are beyond the bound, worst at (0): device 2, bench 1, 70 times its bound",
      "lost terms: sums without the last 4 of 16");
  add(run, "Torch.mm.1", "Torch.mm", Verdict::kPass, Verdict::kError,
      "9 of 9 elements are beyond the bound, worst at (0): device 2, bench 1, 90 times its bound",
      "lost terms: sums without the last 8 of 32");
  add(run, "Torch.add.0", "Torch.add", Verdict::kPass, Verdict::kPass, "equal", "");
  add(run, "Torch.exp.0", "Torch.exp", Verdict::kError, Verdict::kPass, "equal", "");
  add(run, "Torch.exp.1", "Torch.exp", Verdict::kPass, Verdict::kWarning,
      "1 of 9 elements is beyond the bound, worst at (0): device 2, bench 1, 2 times its bound",
      "");
  add(run, "Torch.cat.0", "Torch.cat", Verdict::kSkip, Verdict::kSkip, "missing_data: x.pt", "");
  add(run, "Torch.cat.1", "Torch.cat", Verdict::kSkip, Verdict::kSkip, "unknown_api: cat", "");
  return run;
}

TEST(Answer, TheStrictStatusDecides) {
  const ReportRun run = sample();
  std::vector<Standing> found;
  for (const ReportCall& call : run.calls) found.push_back(standing(call));
  EXPECT_THAT(found, ElementsAre(Standing::kWrong, Standing::kWrong, Standing::kPass,
                                 Standing::kDocumentedOnly, Standing::kSlight, Standing::kLost,
                                 Standing::kSkipped));
  ReportCall plain;
  plain.forward = Verdict::kWarning;
  EXPECT_EQ(standing(plain), Standing::kSlight);
}

TEST(Answer, NamesApisCausesAndWhatWasNotChecked) {
  const Answer answer = answer_of(sample());
  EXPECT_EQ(answer.checked, 5U);
  ASSERT_EQ(answer.apis.size(), 1U);
  EXPECT_EQ(answer.apis[0].api, "Torch.mm");
  EXPECT_EQ(answer.apis[0].wrong, 2U);
  EXPECT_EQ(answer.apis[0].total, 2U);
  EXPECT_EQ(answer.apis[0].cause, "lost terms");
  ASSERT_EQ(answer.cards.size(), 2U);
  EXPECT_EQ(answer.cards[0].calls, 2U);
  EXPECT_EQ(answer.cards[0].worst, 90);
  EXPECT_EQ(answer.cards[0].worst_call, 1U);
  EXPECT_EQ(answer.cards[0].evidence, "lost terms: sums without the last 8 of 32");
  EXPECT_EQ(answer.cards[1].api, "Torch.exp");
  EXPECT_EQ(answer.cards[1].slight, 1U);
  EXPECT_THAT(answer.skipped, testing::UnorderedElementsAre(Pair("missing tensor file", 1U),
                                                            Pair("API not in this PyTorch", 1U)));
}

}  // namespace
}  // namespace msprobe::report
