// SPDX-License-Identifier: Apache-2.0
#include "report/live_run.h"

#include <gtest/gtest.h>

#include "report/answer.h"
#include "scratch_directory_for_test.h"

namespace msprobe::report {
namespace {

documented::ResultRow result(std::string name, Verdict verdict) {
  return {.api_name = std::move(name),
          .forward = verdict,
          .backward = {},
          .message = {},
          .strict = verdict};
}

TEST(LiveRun, KeepsWhatDoesNotPassAndWhereItWasCalled) {
  const ScratchDirectory scratch;
  const auto dump = scratch.write("dump.json", "{}");
  scratch.write("stack.json", R"json({"0": [["Torch.mm.1.forward"], [
    "File /usr/lib/python3/dist-packages/torch/nn/m.py, line 7, in forward, \n return mm(a)",
    "File /home/me/net.py, line 50, in forward, \n x = self.tok(idx)"]]})json");
  LiveRun live(dump);
  EXPECT_EQ(live.add(result("Torch.mm.0", Verdict::kPass), {}), nullptr);
  documented::DetailRow row;
  row.api_name = "Torch.mm.1.forward.output.0";
  row.strict_status = Verdict::kError;
  row.likely_cause = "lost terms: sums without the last 4 of 16";
  const ReportCall* call = live.add(result("Torch.mm.1", Verdict::kError), {&row, 1});
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(source_line(live.run(), *call), "net.py:50");
  EXPECT_EQ(live.run().rows.front().part, "forward.output.0");
  const Answer answer = answer_of(live.run());
  EXPECT_EQ(answer.checked, 2U);
  ASSERT_EQ(answer.apis.size(), 1U);
  EXPECT_EQ(answer.apis.front().wrong, 1U);
  EXPECT_EQ(answer.apis.front().total, 2U);
}

TEST(LiveRun, ADumpAloneIsEnough) {
  const ScratchDirectory scratch;
  LiveRun live(scratch.path() / "dump.json");
  const ReportCall* call = live.add(result("Functional*relu*0", Verdict::kError), {});
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->name, "Functional.relu.0");
  EXPECT_EQ(source_line(live.run(), *call), "");
}

}  // namespace
}  // namespace msprobe::report
