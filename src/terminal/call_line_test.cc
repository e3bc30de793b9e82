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
