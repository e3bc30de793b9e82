// SPDX-License-Identifier: Apache-2.0
#include "terminal/call_line.h"

#include <limits>

#include <gtest/gtest.h>

#include "terminal/run_for_test.h"

namespace msprobe::terminal {
namespace {

constexpr Style kWide{.columns = 140};

TEST(CallLine, SaysWhatIsWrongHowMuchWhyAndWhere) {
  const report::ReportRun run = small_run();
  EXPECT_EQ(call_line(run, run.calls[0], kWide),
            "FAIL Torch.matmul.0   forward, backward   890000 x bound   lost terms (last 4 of 16)"
            "   train.py:28\n");
}

TEST(CallLine, NamesTheModule) {
  report::ReportRun run = small_run();
  run.calls[0].site.module = "model.layers.3.mlp.down_proj";
  EXPECT_EQ(call_line(run, run.calls[0], {.columns = 160}),
            "FAIL Torch.matmul.0   forward, backward   890000 x bound   lost terms (last 4 of 16)"
            "   module model.layers.3.mlp.down_proj   train.py:28\n");
}

TEST(CallLine, OtherKindsOfCalls) {
  const report::ReportRun run = small_run();
  EXPECT_EQ(
      call_line(run, run.calls[1], kWide),
      "FLAG Torch.exp.1   forward   0 x bound   documented thresholds only: Cosine similarity "
      "is less than 0.99\n");
  EXPECT_EQ(call_line(run, run.calls[2], kWide),
            "WARN Torch.exp.2   forward   2 x bound   no known pattern\n");
  EXPECT_EQ(call_line(run, run.calls[3], kWide), "LOST Torch.cat.0   crashed: signal 11\n");
  EXPECT_EQ(mark_of(run.calls[4]), Mark::kNone) << "a skip is counted, not shown";
}

TEST(CallLine, ACallThatDoesNotRun) {
  report::ReportRun run = small_run();
  report::ReportCall& call = run.calls[0];
  call.backward = Verdict::kSkip;
  call.skip = run.rows[1].skip = SkipReason::kDeviceFailed;
  call.message = run.rows[1].message = "device_failed: \nno kernel for this\nmore lines";
  run.rows[1].status = run.rows[1].strict.emplace(Verdict::kSkip);
  run.rows[1].likely_cause.clear();
  EXPECT_EQ(call_line(run, call, {.columns = 200}),
            "RAISED Torch.matmul.0   backward   does not run on the device: no kernel for this   "
            "also wrong: 890000 x bound, lost terms (last 4 of 16)   train.py:28\n");
}

TEST(CallLine, AnotherDTypeHasNoBound) {
  report::ReportRun run;
  add_call(run, "Functional.group_norm.0", "Functional.group_norm", Verdict::kPass,
           Verdict::kError);
  add_row(run, "forward.output.0", Verdict::kPass, Verdict::kError, report::kNoNumber,
          "dtype torch.float32, recorded is torch.bfloat16", "wrong dtype");
  add_row(run, "backward.output.0", Verdict::kPass, Verdict::kPass, 0.3, "within", "");
  EXPECT_EQ(call_line(run, run.calls[0], kWide),
            "FAIL Functional.group_norm.0   forward   wrong dtype (torch.float32, recorded is "
            "torch.bfloat16)\n");
}

TEST(CallLine, APassThatProvesLittle) {
  report::ReportRun run;
  add_call(run, "Torch.zeros.0", "Torch.zeros", Verdict::kPass, Verdict::kInconclusive);
  add_row(run, "forward.output.0", Verdict::kPass, Verdict::kInconclusive, 0,
          "proves little: it is all zero; equal", "");
  EXPECT_EQ(call_line(run, run.calls[0], kWide),
            "INCONCLUSIVE Torch.zeros.0   forward   proves little: it is all zero\n");
}

TEST(CallLine, OthersAreCountedUnlessTheyFail) {
  EXPECT_TRUE(has_line(Mark::kRaised, FailOn::kError));
  EXPECT_FALSE(has_line(Mark::kFlag, FailOn::kStrict));
  EXPECT_TRUE(has_line(Mark::kFlag, FailOn::kWarning));
  EXPECT_FALSE(has_line(Mark::kInconclusive, FailOn::kStrict));
  EXPECT_TRUE(has_line(Mark::kInconclusive, FailOn::kInconclusive));
}

TEST(CallLine, AnErrorOfManyWordsIsCut) {
  const std::string text = does_not_run(std::string(90, 'a') + " bcd " + std::string(90, 'e'));
  EXPECT_EQ(text, "does not run on the device: " + std::string(90, 'a') + " bcd ...");
  EXPECT_EQ(does_not_run(std::string(300, 'a')).size(), 28U + 100 + 4) << "no blank to cut at";
}

TEST(CallLine, FitsFortyColumns) {
  const report::ReportRun run = small_run();
  EXPECT_EQ(call_line(run, run.calls[0], {.columns = 40}),
            "FAIL Torch.matmul.0   forward, backward\n"
            "     890000 x bound\n"
            "     lost terms (last 4 of 16)\n"
            "     train.py:28\n");
}

TEST(CallLine, ColourIsForTheLabelAndTheNames) {
  const report::ReportRun run = small_run();
  EXPECT_EQ(call_line(run, run.calls[3], {.columns = 80, .colour = true}),
            "\033[31mLOST\033[0m \033[1mTorch.cat.0\033[0m   crashed: signal 11\n");
}

TEST(CallLine, SizesHaveTwoDigits) {
  EXPECT_EQ(bound_text(1.04), "1 x bound");
  EXPECT_EQ(bound_text(73.2), "73 x bound");
  EXPECT_EQ(bound_text(894321), "890000 x bound");
  EXPECT_EQ(bound_text(3.21e12), "3.2e+12 x bound");
  EXPECT_EQ(bound_text(std::numeric_limits<double>::infinity()), "inf x bound");
  EXPECT_EQ(bound_text(report::kNoNumber), "");
}

TEST(CallLine, ShortCauses) {
  EXPECT_EQ(short_cause("wrong dtype"), "wrong dtype");
  EXPECT_EQ(short_cause("wrong dtype; gradient only"), "wrong dtype");
  EXPECT_EQ(short_cause("bad tile: (0, 16..31)"), "bad tile (0, 16..31)");
  EXPECT_EQ(short_cause("wrong scale: 2 times the benchmark; gradient only"),
            "wrong scale (2 times the benchmark)");
  EXPECT_EQ(short_cause("low-precision accumulation: sums kept in torch.bfloat16 give an error of "
                        "this size"),
            "low-precision accumulation (sums kept in torch.bfloat16)");
  EXPECT_EQ(
      short_cause("lost tail: the last 100 of 16384 elements, from (3, 3, 31, 31) on, are zero"),
      "lost tail (the last 100 of 16384 elements, from (3, 3, 31, ...)");
}

}  // namespace
}  // namespace msprobe::terminal
