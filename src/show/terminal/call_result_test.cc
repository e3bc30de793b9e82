// SPDX-License-Identifier: Apache-2.0
#include "terminal/call_result.h"

#include <gtest/gtest.h>

#include "terminal/run_for_test.h"

namespace msprobe::terminal {
namespace {

TEST(CallResult, ShowsEveryOutput) {
  report::ReportRun run = small_run();
  run.metrics = {{"Cosine", ""}, {"MaxAbsErr", ""}, {"Cosine", "reference"}};
  run.calls[0].arguments = "0\tfloat32 (2, 3)\ndim\t1";
  run.calls[0].site.module = "model.layers.0";
  run.rows[0].device_dtype = "torch.float32";
  run.rows[0].shape = "(3, 3)";
  run.rows[0].numbers = {0.5, report::kNoNumber, 1};
  EXPECT_EQ(
      call_result(run, run.calls[0], {.columns = 140}),
      "Torch.matmul.0   module model.layers.0   train.py:28\n"
      "  argument 0  float32 (2, 3)\n"
      "  argument dim  1\n"
      "  forward.output.0   torch.float32   (3, 3)   strict: error   documented: error\n"
      "    bound      9 of 9 elements are beyond the bound, worst at (0): device 2, bench 1, "
      "8.94e+05 times its bound\n"
      "    cause      lost terms: sums without the last 4 of 16 leave 1e-07 of the error\n"
      "    metrics    Cosine 0.5\n"
      "  backward.output.0   strict: error   documented: pass\n"
      "    bound      9 of 9 elements are beyond the bound, worst at (0): device 2, bench 1, 7 "
      "times its bound\n"
      "    cause      lost terms: sums without the last 8 of 32 leave 1e-07 of the error; "
      "gradient only\n");
}

TEST(CallResult, SaysWhatDoesNotRun) {
  report::ReportRun run;
  add_skip(run, "VF.lstm.0", "VF.lstm", SkipReason::kDeviceFailed, "device_failed: no kernel");
  EXPECT_EQ(call_result(run, run.calls[0], {.columns = 140}),
            "VF.lstm.0\n  forward.output.0   does not run on the device: no kernel\n");
}

}  // namespace
}  // namespace msprobe::terminal
