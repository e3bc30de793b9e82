// SPDX-License-Identifier: Apache-2.0
#include "documented/skip_message.h"

#include <gtest/gtest.h>

namespace msprobe::documented {
namespace {

TEST(Skip, PlannedMessagesHaveTheDocumentedTexts) {
  EXPECT_EQ(planned_skip(SkipReason::kNotSupported, "Distributed.all_reduce.0").text,
            "API Distributed.all_reduce.0 not support for acc_check. SKIP.");
  EXPECT_EQ(planned_skip(SkipReason::kFiltered, "Functional.conv2d.0").text,
            "API conv2d in black list or not in white list. SKIP.");
  EXPECT_EQ(planned_skip(SkipReason::kHostile, "=x.y.0").text,
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
    EXPECT_EQ(skip_reason_of(skip_message({reason, "text: with, marks"})), reason);
  }
  for (const SkipReason reason :
       {SkipReason::kNotSupported, SkipReason::kFiltered, SkipReason::kHostile}) {
    EXPECT_EQ(skip_reason_of(planned_skip(reason, "Torch.add.0").text), reason);
  }
  EXPECT_EQ(skip_reason_of("Bench output is None, skip this test."), SkipReason::kNone);
}

}  // namespace
}  // namespace msprobe::documented
