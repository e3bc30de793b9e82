// SPDX-License-Identifier: Apache-2.0
#include "check/known_errors.h"

#include <gtest/gtest.h>

namespace msprobe::check {
namespace {

TEST(Faq, EI0006SaysToUpgradeCann) {
  EXPECT_NE(advice_on("HCCL: error code: EI0006").find("upgrade CANN"), std::string_view::npos);
}

TEST(Faq, Error107002SaysToSetTheDevice) {
  const std::string told = with_advice(
      "torch_npu._C._clear_overflow_npu() RuntimeError NPU error, error code is 107002");
  EXPECT_NE(told.find("set_device('npu:0')"), std::string::npos) << told;
  EXPECT_TRUE(told.starts_with("torch_npu._C._clear_overflow_npu()"));
}

TEST(Faq, TheNameErrorOfTorchNpuSaysWhatToInstall) {
  EXPECT_NE(advice_on("NameError: name 'torch_npu' is not defined").find("install torch_npu"),
            std::string_view::npos);
}

TEST(Faq, OtherErrorsStayAsTheyAre) { EXPECT_EQ(with_advice("shape mismatch"), "shape mismatch"); }

}  // namespace
}  // namespace msprobe::check
