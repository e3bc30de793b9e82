// SPDX-License-Identifier: Apache-2.0
#include "report/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documented/skip_message.h"

namespace msprobe::report {
namespace {

using testing::ElementsAre;
using testing::Pair;

// A call of one row.
void add(ReportRun& run, std::string name, std::string api, Verdict status, Verdict strict,
         double size, std::string cause, std::string message = "") {
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
  row.error_over_bound = size;
  row.likely_cause = std::move(cause);
  row.skip = call.skip = documented::skip_reason_of(message);
  row.message = call.message = std::move(message);
  run.rows.push_back(std::move(row));
  run.calls.push_back(std::move(call));
}

ReportRun sample() {
  ReportRun run;
  add(run, "Torch.mm.0", "Torch.mm", Verdict::kError, Verdict::kError, 70,
      "lost terms: sums without the last 4 of 16");
  add(run, "Torch.mm.1", "Torch.mm", Verdict::kPass, Verdict::kError, 90,
      "lost terms: sums without the last 8 of 32");
  add(run, "Torch.add.0", "Torch.add", Verdict::kPass, Verdict::kPass, 0, "");
  add(run, "Torch.exp.0", "Torch.exp", Verdict::kError, Verdict::kPass, 0, "");
  add(run, "Torch.exp.1", "Torch.exp", Verdict::kPass, Verdict::kWarning, 2, "");
  add(run, "Torch.cat.0", "Torch.cat", Verdict::kSkip, Verdict::kSkip, kNoNumber, "",
      "missing_data: x.pt");
  add(run, "Torch.cat.1", "Torch.cat", Verdict::kSkip, Verdict::kSkip, kNoNumber, "",
      "unknown_api: cat");
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

TEST(Answer, WhatDoesNotRunIsCountedApart) {
  ReportRun run = sample();
  add(run, "VF.lstm.0", "VF.lstm", Verdict::kSkip, Verdict::kSkip, kNoNumber, "",
      "device_failed: Could not run it\non this back end");
  add(run, "VF.lstm.1", "VF.lstm", Verdict::kPass, Verdict::kPass, 0, "",
      "device_failed: no backward");
  run.calls.back().backward = Verdict::kSkip;
  add(run, "Torch.sin.0", "Torch.sin", Verdict::kSkip, Verdict::kSkip, kNoNumber, "",
      "not_on_device: the CPU would compute it");
  const Answer answer = answer_of(run);
  EXPECT_EQ(answer.checked, 5U);
  ASSERT_EQ(answer.raised.size(), 1U);
  EXPECT_EQ(answer.raised[0].api, "VF.lstm");
  EXPECT_EQ(answer.raised[0].calls, 2U);
  EXPECT_EQ(answer.raised[0].text, "Could not run it");
  EXPECT_EQ(answer.skipped.size(), 3U);
  EXPECT_EQ(standing(run.calls[8]), Standing::kRaised);
}

TEST(Answer, AWeakPassIsNeitherAPassNorWrong) {
  ReportRun run;
  add(run, "Torch.zeros_like.0", "Torch.zeros_like", Verdict::kPass, Verdict::kInconclusive, 0, "");
  EXPECT_EQ(standing(run.calls[0]), Standing::kInconclusive);
  EXPECT_EQ(answer_of(run).inconclusive, 1U);
  EXPECT_EQ(answer_of(run).checked, 1U);
}

TEST(Answer, ABackwardPassThatWasLostIsSaid) {
  ReportCall call;
  call.forward = Verdict::kPass;
  call.backward = Verdict::kSkip;
  call.strict = Verdict::kPass;
  call.message = "timed_out: no answer";
  call.skip = SkipReason::kTimedOut;
  EXPECT_EQ(standing(call), Standing::kLost);
}

}  // namespace
}  // namespace msprobe::report
