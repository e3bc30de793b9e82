// SPDX-License-Identifier: Apache-2.0
#include "check/skip_message.h"

#include <gtest/gtest.h>

namespace msprobe::check {
namespace {

TEST(Skip, PlannedMessagesHaveTheDocumentedTexts) {
  EXPECT_EQ(planned_skip_message(SkipReason::kNotSupported, "Distributed.all_reduce.0"),
            "API Distributed.all_reduce.0 not support for acc_check. SKIP.");
  EXPECT_EQ(planned_skip_message(SkipReason::kFiltered, "Functional.conv2d.0"),
            "API conv2d in black list or not in white list. SKIP.");
  EXPECT_EQ(planned_skip_message(SkipReason::kHostile, "=x.y.0"),
            "api name contains special characters, please check!");
}

TEST(Skip, FixedTextsStandAloneOthersFollowTheirReason) {
  EXPECT_EQ(skip_message({SkipReason::kNoBench, "There is not bench function npu_foo"}),
            "There is not bench function npu_foo");
  EXPECT_EQ(skip_message({SkipReason::kMissingData, "x.pt is not there"}),
            "missing_data: x.pt is not there");
  EXPECT_EQ(skip_message({SkipReason::kBenchFailed, "There is not bench function x"}),
            "bench_failed: There is not bench function x");
}

TEST(Skip, PyTorchsTableOfKernelsIsLeftOut) {
  EXPECT_EQ(skip_message({SkipReason::kDeviceFailed,
                          "Could not run 'aten::lstm'. It is only available for: [CPU].\n\nCPU: "
                          "registered at /b/RegisterCPU.cpp:1 [kernel]\nMeta: registered at /b/m"}),
            "device_failed: Could not run 'aten::lstm'. It is only available for: [CPU].");
  EXPECT_EQ(skip_message({SkipReason::kDeviceFailed, "a\n\nEZ1001: of the driver"}),
            "device_failed: a\n\nEZ1001: of the driver");
}

TEST(Skip, EveryMessageLeadsBackToItsReason) {
  for (std::size_t i = 1; i < kSkipReasonNames.size(); ++i) {
    const auto reason = static_cast<SkipReason>(i);
    const SkipClass found = classify_skip(skip_message({reason, "text: with, marks"}));
    EXPECT_EQ(found.label, name(reason));
    EXPECT_EQ(found.lost, is_lost(reason));
  }
  for (const SkipReason reason :
       {SkipReason::kNotSupported, SkipReason::kFiltered, SkipReason::kHostile}) {
    const SkipClass found = classify_skip(planned_skip_message(reason, "Torch.add.0"));
    EXPECT_EQ(found.label, name(reason));
    EXPECT_EQ(found.lost, is_lost(reason));
  }
  EXPECT_EQ(classify_skip("Bench output is None, skip this test.").label, "nothing_to_compare");
  EXPECT_FALSE(classify_skip("Bench output is None, skip this test.").lost);
}

}  // namespace
}  // namespace msprobe::check
