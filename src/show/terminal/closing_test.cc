// SPDX-License-Identifier: Apache-2.0
#include "terminal/closing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "terminal/run_for_test.h"

namespace msprobe::terminal {
namespace {

using testing::HasSubstr;

TEST(Closing, NamesTheApisCountsAndTheNextCommand) {
  const report::ReportRun run = small_run();
  Closing closing = closing_of(run);
  closing.device = "sim";
  closing.seconds = 0.84;
  closing.failed = true;
  closing.report = "out/report.html";
  closing.next = "msprobe shrink -api_info /a/dump.json --only Torch.matmul.0";
  const std::string text = closing_text(answer_of(run), closing, {.columns = 300});
  EXPECT_EQ(text,
            "sim: 1 API wrong (matmul 1 of 4); 1 of 66 calls; 1 slightly beyond its bound; 1 more "
            "flagged by the documented thresholds only; 2 skipped (API not in this PyTorch: 1, "
            "the engine crashed: 1); 0.8 s\n"
            "report:  out/report.html\n"
            "next:    msprobe shrink -api_info /a/dump.json --only Torch.matmul.0\n");
}

TEST(Closing, AllIsWell) {
  report::ReportRun run;
  run.passed_apis = {{"Torch.add", 70}, {"Torch.matmul", 2}};
  Closing closing = closing_of(run);
  closing.device = "cpu";
  closing.seconds = 75;
  EXPECT_EQ(closing_text(answer_of(run), closing, {}),
            "cpu: OK. 72 calls checked, none wrong; 1 min 15 s\n");
}

TEST(Closing, FlaggedByTheDocumentsAloneIsNeitherOkNorWrong) {
  report::ReportRun run;
  add_call(run, "Torch.exp.1", "Torch.exp", Verdict::kError, Verdict::kPass);
  Closing closing = closing_of(run);
  closing.device = "cpu";
  closing.failed = true;
  EXPECT_EQ(
      closing_text(answer_of(run), closing, {.columns = 100}),
      "cpu: 1 call checked, none wrong; 1 flagged by the documented thresholds only; 0.0 s\n");
}

TEST(Closing, SlightlyWrongIsNotNoneWrong) {
  report::ReportRun run;
  add_call(run, "Torch.exp.2", "Torch.exp", Verdict::kPass, Verdict::kWarning);
  Closing closing = closing_of(run);
  closing.device = "sim";
  closing.failed = true;
  EXPECT_EQ(closing_text(answer_of(run), closing, {.columns = 100}),
            "sim: 1 call checked; 1 slightly beyond its bound; 0.0 s\n");
}

TEST(Closing, WhatDoesNotRunComesFirst) {
  report::ReportRun run = small_run();
  add_skip(run, "VF.lstm.0", "VF.lstm", SkipReason::kDeviceFailed,
           "device_failed: Could not run it");
  Closing closing = closing_of(run);
  closing.device = "sim";
  closing.failed = true;
  EXPECT_THAT(
      closing_text(answer_of(run), closing, {.columns = 300}),
      testing::StartsWith("sim: 1 API does not run on the device (lstm, 1 call); 1 API wrong "
                          "(matmul 1 of 4); 1 of 66 calls; "));
  EXPECT_THAT(
      worst_groups(run, answer_of(run), {.columns = 140}),
      testing::StartsWith("VF.lstm   1 call   does not run on the device: Could not run it\n"));
}

TEST(Closing, APassThatProvesLittleIsCounted) {
  report::ReportRun run;
  add_call(run, "Torch.zeros.0", "Torch.zeros", Verdict::kPass, Verdict::kInconclusive);
  Closing closing = closing_of(run);
  closing.device = "cpu";
  EXPECT_EQ(closing_text(answer_of(run), closing, {.columns = 100}),
            "cpu: 1 call checked, none wrong; 1 inconclusive (it proves little); 0.0 s\n");
  run.passed_apis = {{"Torch.add", 2}};
  EXPECT_EQ(closing_text(answer_of(run), closing, {.columns = 100}),
            "cpu: OK. 3 calls checked, none wrong; 1 inconclusive (it proves little); 0.0 s\n");
}

TEST(Closing, SaysWhatDecidedIfThatIsNotTheStrictStatus) {
  const report::ReportRun run = small_run();
  Closing closing = closing_of(run);
  closing.decided_by = "--fail-on error";
  EXPECT_THAT(closing_text(answer_of(run), closing, {.columns = 300}),
              HasSubstr("; --fail-on error decides the exit status; 0.0 s\n"));
}

TEST(Closing, LinesFitTheTerminal) {
  const report::ReportRun run = small_run();
  Closing closing = closing_of(run);
  closing.device = "sim";
  const Style narrow{.columns = 40};
  const std::string text =
      worst_groups(run, answer_of(run), narrow) + closing_text(answer_of(run), closing, narrow);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    EXPECT_LE(end - start, 40U) << text.substr(start, end - start);
    start = end + 1;
  }
}

TEST(Closing, TheWorstGroupsAreByApiAndCause) {
  const report::ReportRun run = small_run();
  const std::string text = worst_groups(run, answer_of(run), {.columns = 140});
  EXPECT_THAT(text, testing::StartsWith("Torch.matmul   1 call   890000 x bound   lost terms (last "
                                        "4 of 16)   train.py:28\n"));
  EXPECT_THAT(text, HasSubstr("Torch.exp   1 call   2 x bound"));
}

TEST(Closing, TenGroupsAreShown) {
  report::ReportRun run;
  for (int i = 0; i < 13; ++i) {
    const std::string api = "Torch.f" + std::to_string(i);
    add_call(run, api + ".0", api, Verdict::kError, Verdict::kError);
    add_row(run, "forward.output.0", Verdict::kError, Verdict::kError, 9, "9 times its bound", "");
  }
  EXPECT_THAT(worst_groups(run, answer_of(run), {}), HasSubstr("and 3 more APIs and causes\n"));
  Closing closing = closing_of(run);
  EXPECT_THAT(closing_text(answer_of(run), closing, {.columns = 400}),
              HasSubstr("13 APIs wrong (f0 1 of 1, f1 1 of 1, f10 1 of 1, f11 1 of 1, f12 1 of 1, "
                        "f2 1 of 1, 7 more)"));
}

}  // namespace
}  // namespace msprobe::terminal
