// SPDX-License-Identifier: Apache-2.0
// Calls whose results are products, from the call to the finding.
#include "strict/judge_product.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strict/calls_for_test.h"

namespace msprobe::strict {
namespace {

using ::testing::StartsWith;

dump::CallRecord linear() {
  return with_backward(call("Functional.linear.0", {{tensor({40, 64}, DType::kFloat32, true)},
                                                    {tensor({48, 64}, DType::kFloat32, true)},
                                                    {tensor({48}, DType::kFloat32, true)}}),
                       {{tensor({40, 48})}});
}

dump::CallRecord convolution() {
  return with_backward(call("Functional.conv2d.0", {{tensor({2, 8, 12, 12}, DType::kFloat32, true)},
                                                    {tensor({16, 8, 3, 3}, DType::kFloat32, true)},
                                                    {dump::None{}},
                                                    {std::int64_t{1}},
                                                    {std::int64_t{1}}}),
                       {{tensor({2, 16, 12, 12})}});
}

TEST(JudgeProduct, GradientsOfLayersNeedNoFurtherRun) {
  for (const dump::CallRecord& record : {linear(), convolution()}) {
    const Findings findings = RunCall(record).judge();
    EXPECT_EQ(findings.runs, 0) << record.full_name;
    for (const StrictFinding& finding : findings.backward) {
      EXPECT_EQ(finding.status, Verdict::kPass) << record.full_name << finding.reason;
    }
  }
}

TEST(JudgeProduct, OneWrongElementOfAnyGradientIsSeen) {
  for (const dump::CallRecord& record : {linear(), convolution()}) {
    const RunCall right(record);
    for (std::size_t i = 0; i < right.outcome.backward.size(); ++i) {
      RunCall run = right;
      at::Tensor device = right.outcome.backward[i].device.as<at::Tensor>()->clone();
      device.flatten()[device.numel() - 3] += 1e-2 * device.abs().max();
      run.outcome.backward[i].device = {device};
      EXPECT_EQ(run.judge().backward[i].status, Verdict::kError) << record.full_name << i;
    }
  }
}

// Its first elements show that the narrowest bound is too small, and the NaN is behind them.
TEST(JudgeProduct, NanAtTheEndOfALargeProductNeverPasses) {
  RunCall run(matmul(DType::kFloat32, 256, 600, 256));
  EXPECT_EQ(run.forward().status, Verdict::kPass);
  at::Tensor device = run.device().clone();
  device[255][255] = std::numeric_limits<double>::quiet_NaN();
  run.set_device(device);
  EXPECT_EQ(run.forward().status, Verdict::kError);
  EXPECT_THAT(run.forward().cause, StartsWith("NaN or Inf: one element"));
}

// The share by which sums drift is read from the result, so an error that all elements have in
// common may pass as drift: up to 0.75 n 2^-23 of the result, and only where sums may drift.
TEST(JudgeProduct, AnErrorOfAllElementsHidesInTheDriftAndNoFarther) {
  for (const std::int64_t terms : {1024, 4096}) {
    RunCall run(call("Torch.matmul.0", {{tensor({16, terms}, DType::kFloat32, false, 0.5, 1)},
                                        {tensor({terms, 24}, DType::kFloat32, false, 0.5, 1)}}));
    const double most = 0.75 * static_cast<double>(terms) * 0x1p-23;
    const auto judged = [&](double share, probe::DeviceSums sums) {
      run.set_device((run.bench() * (1 - share)).to(at::kFloat));
      StrictOptions options;
      options.device_sums = [sums](at::ScalarType) { return sums; };
      return is_right(run.judge(options).forward.front());
    };
    EXPECT_TRUE(judged(0.3 * most, probe::DeviceSums::kUnknown)) << terms;
    EXPECT_FALSE(judged(0.3 * most, probe::DeviceSums::kRounded)) << terms;
    EXPECT_FALSE(judged(1.5 * most, probe::DeviceSums::kUnknown)) << terms;
  }
}

}  // namespace
}  // namespace msprobe::strict
