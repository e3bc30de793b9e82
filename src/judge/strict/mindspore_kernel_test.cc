// SPDX-License-Identifier: Apache-2.0
#include "strict/mindspore_kernel.h"

#include <cmath>

#include <gtest/gtest.h>

#include "execute/replay_dialect.h"
#include "strict/calls_for_test.h"

namespace msprobe::strict {
namespace {

// As MindSpore's CPU computes it: 2^k times a Taylor polynomial of degree 5.
float coarse_exp(float x) {
  const float k = std::round(x / 0.6931472F);
  const float r = x - k * 0.6931472F;
  const float series =
      1 + r * (1 + r * (1.0F / 2 + r * (1.0F / 6 + r * (1.0F / 24 + r * (1.0F / 120)))));
  return std::ldexp(series, static_cast<int>(k));
}

at::Tensor coarse_exp(const at::Tensor& x) {
  at::Tensor result = x.to(at::kFloat).clone();
  float* data = result.data_ptr<float>();
  for (std::int64_t i = 0; i < result.numel(); ++i) data[i] = coarse_exp(data[i]);
  return result;
}

// A call of a MindSpore dump whose results are judged as the recorded ones.
struct Recorded {
  dump::CallRecord record;
  execute::ExecuteOptions options;
  execute::CallOutcome outcome;

  Recorded(const char* name, double least, double greatest, DType dtype = DType::kFloat32)
      : record(with_backward(call(name, {{tensor({2000}, dtype, true, least, greatest)}}),
                             {{tensor({2000}, dtype)}})) {
    execute::set_dialect(execute::mindspore_dialect(), options);
    outcome = *execute::execute_call(record, options);
    options.recorded = true;
  }
  at::Tensor input() const { return *outcome.arguments.call.args.front().as<at::Tensor>(); }
  StrictFinding judge(const at::Tensor& forward) {
    outcome.forward.front().device = {forward};
    return judge_call(record, options, outcome).forward.front();
  }
};

TEST(MindSporeKernels, AnExponentialOfItsSeriesIsWithinTheBound) {
  for (const double range : {1.0, 10.0, 80.0}) {
    Recorded exp("Mint.exp.0", -range, range);
    EXPECT_EQ(exp.judge(coarse_exp(exp.input())).status, Verdict::kPass) << range;
    Recorded sigmoid("Mint.sigmoid.0", -range, range);
    const StrictFinding finding = sigmoid.judge((1 + coarse_exp(-sigmoid.input())).reciprocal());
    EXPECT_EQ(finding.status, Verdict::kPass) << range << ": " << finding.reason;
  }
}

TEST(MindSporeKernels, DigitsLostToAnAddedOneAreWithinTheBound) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    if (dtype == DType::kFloat16 && !has_half_kernels()) continue;
    Recorded log1p("Mint.log1p.0", 0, 0.01, dtype);
    EXPECT_EQ(log1p.judge((log1p.input() + 1).log()).status, Verdict::kPass);
    Recorded expm1("Mint.special.expm1.0", -0.01, 0.01, dtype);
    EXPECT_EQ(expm1.judge(expm1.input().exp() - 1).status, Verdict::kPass);
  }
}

TEST(MindSporeKernels, WhatIsFartherOffIsSeen) {
  Recorded exp("Mint.exp.0", -1, 1);
  at::Tensor off = exp.input().exp();
  off[3] = off[3] * (1 + 1e-4);
  EXPECT_NE(exp.judge(off).status, Verdict::kPass);
  Recorded log1p("Mint.log1p.0", 0, 0.01);
  EXPECT_NE(log1p.judge(log1p.input().log1p() + 1e-6).status, Verdict::kPass);
  // Nothing is added for what is computed otherwise.
  Recorded tanh("Mint.tanh.0", -1, 1);
  EXPECT_NE(tanh.judge(tanh.input().tanh() * (1 + 3e-6)).status, Verdict::kPass);
}

TEST(MindSporeKernels, OtherDevicesGetNoMore) {
  Recorded exp("Mint.exp.0", -1, 1);
  exp.options.recorded = false;
  EXPECT_NE(exp.judge(coarse_exp(exp.input())).status, Verdict::kPass);
}

TEST(MindSporeKernels, TheGradientOfErfHasAnExponential) {
  const FloatType type = *float_type(at::kFloat);
  EXPECT_FALSE(mindspore_kernel("erf", Direction::kForward, type).any());
  EXPECT_TRUE(mindspore_kernel("erf", Direction::kBackward, type).any());
  EXPECT_TRUE(mindspore_kernel("special.log1p", Direction::kForward, type).any());
  EXPECT_TRUE(mindspore_kernel("exp_", Direction::kForward, type).any());
  EXPECT_FALSE(mindspore_kernel("add", Direction::kForward, type).any());
}

}  // namespace
}  // namespace msprobe::strict
