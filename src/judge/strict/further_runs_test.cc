// SPDX-License-Identifier: Apache-2.0
// How often the benchmark runs again until a result passes: a further run costs as much as the
// call.
#include <algorithm>
#include <cmath>

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "libtorch/cpu_types_for_test.h"
#include "strict/calls_for_test.h"
#include "strict/finding.h"
#include "strict/judge_call.h"

namespace msprobe::strict {
namespace {

int runs_of_a_pass(const RunCall& run) {
  const Findings findings = run.judge();
  for (const auto& list : {findings.forward, findings.backward}) {
    for (const StrictFinding& finding : list) {
      EXPECT_TRUE(is_right(finding)) << run.record.full_name << finding.reason;
    }
  }
  EXPECT_LE(findings.runs, 4) << run.record.full_name;
  return findings.runs;
}

TEST(JudgeCall, APassTakesAtMostFourFurtherRuns) {
  int most = 0;
  for (const DType dtype : libtorch::cpu_floats()) {
    const int of_product = runs_of_a_pass(RunCall(matmul(dtype)));
    // A CPU that keeps the sums in bfloat16 needs its own results beside them.
    if (libtorch::sum_of_ones(dtype) >= 1024) {
      EXPECT_EQ(of_product, 0);
    }
    const auto wide = [&] { return tensor({20, 300}, dtype, true, -9, 9); };
    for (const char* name :
         {"Functional.softmax.0", "Functional.log_softmax.0", "Torch.cumsum.0", "Torch.cumprod.0",
          "Torch.logcumsumexp.0", "Torch.sum.0", "Torch.var.0", "Torch.norm.0"}) {
      const auto with_dim = call(name, {{wide()}}, {{"dim", {std::int64_t{1}}}});
      most = std::max(most, runs_of_a_pass(RunCall(with_dim)));
    }
    for (const char* name : {"Torch.sin.0", "Torch.lgamma.0", "Torch.tanh.0", "Torch.exp.0"}) {
      most = std::max(most,
                      runs_of_a_pass(RunCall(with_backward(call(name, {{wide()}}), {{wide()}}))));
    }
  }
  RunCall drop(call("Functional.dropout.0", {{tensor({64, 64})}}, {{"p", {0.1}}}));
  const at::Tensor input = *drop.outcome.arguments.call.args[0].as<at::Tensor>();
  drop.set_device(at::where(at::rand(input.sizes()) >= 0.1, input / 0.9F, at::zeros_like(input)));
  most = std::max(most, runs_of_a_pass(drop));
  EXPECT_GT(most, 0) << "some of these need a run";
}

// One run on copies draws often enough, however rare what the device drew is.
TEST(JudgeCall, FewElementsThatWereDrawnTakeFewRuns) {
  RunCall coins(call("Torch.bernoulli.0", {{tensor({3}, DType::kFloat32, false, 0.02, 0.98)}}));
  const at::Tensor zeros = at::zeros({3});
  coins.set_device(zeros);
  runs_of_a_pass(coins);
  coins.set_device(zeros + 1);
  runs_of_a_pass(coins);
  coins.set_device(zeros + 0.5);
  EXPECT_EQ(coins.forward().status, Verdict::kError) << coins.forward().reason;
  RunCall never(call("Torch.bernoulli.0", {{tensor({3}, DType::kFloat32, false, 0, 0)}}));
  never.set_device(zeros + 1);
  EXPECT_EQ(never.forward().status, Verdict::kError) << never.forward().reason;
}

// In bfloat16 a window begins elsewhere in one draw of fifty.
TEST(JudgeCall, PooledWindowsThatAreSeldomDrawnTakeFewRuns) {
  if (!has_half_kernels()) GTEST_SKIP() << "no half types on this PyTorch's CPU";
  RunCall run(call("Functional.fractional_max_pool3d.0",
                   {{tensor({2, 8, 8, 8}, DType::kBFloat16)}, {std::int64_t{2}}},
                   {{"output_size", {std::int64_t{4}}}}));
  const at::Tensor input = run.outcome.arguments.call.args[0].as<at::Tensor>()->detach();
  at::Generator generator = at::detail::createCPUGenerator(5);
  for (int i = 0; i < 60; ++i) {
    const at::Tensor samples = at::rand({1, 2, 3}, generator, input.options());
    run.set_device(std::get<0>(at::fractional_max_pool3d(input, {2, 2, 2}, {4, 4, 4}, samples)));
    runs_of_a_pass(run);
  }
  run.set_device(run.device() + 1);
  EXPECT_EQ(run.forward().status, Verdict::kError) << run.forward().reason;
}

// In float16 the weights of most keys are zero, in the benchmark they are only small.
TEST(JudgeCall, ADropoutOfWeightsThatUnderflowTakesFewRuns) {
  if (!has_attention()) GTEST_SKIP() << "no attention in this PyTorch";
  const auto heads = [](std::int64_t length) -> dump::Value {
    return {tensor({4, 4, length, 8}, DType::kFloat16, false, -20, 20)};
  };
  RunCall run(call("Functional.scaled_dot_product_attention.0", {heads(3), heads(6), heads(6)},
                   {{"dropout_p", {0.5}}}));
  const arguments::PyList& args = run.outcome.arguments.call.args;
  const auto argument = [&](std::size_t i) { return args[i].as<at::Tensor>()->detach(); };
  const at::Tensor scores = at::matmul(argument(0), argument(1).transpose(2, 3)) / std::sqrt(8.0);
  const at::Tensor weights = at::softmax(scores, -1) * 2;
  at::Generator generator = at::detail::createCPUGenerator(3);
  for (int i = 0; i < 20; ++i) {
    const at::Tensor kept = at::rand(weights.sizes(), generator) >= 0.5;
    run.set_device(at::matmul(weights * kept, argument(2)));
    runs_of_a_pass(run);
  }
  run.set_device(run.device() + 100);
  EXPECT_EQ(run.forward().status, Verdict::kError) << run.forward().reason;
}

// The spread of a few runs is small by chance in some of many elements.
TEST(JudgeCall, NormsWithRoundedStepsTakeFewRuns) {
  if (!has_half_kernels()) GTEST_SKIP() << "no half types on this PyTorch's CPU";
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    RunCall run(call("Functional.layer_norm.0", {{tensor({256, 64}, dtype)},
                                                 {dump::List{{std::int64_t{64}}}},
                                                 {tensor({64}, dtype)},
                                                 {tensor({64}, dtype)}}));
    const arguments::PyList& args = run.outcome.arguments.call.args;
    const at::Tensor input = args[0].as<at::Tensor>()->detach();
    const at::Tensor centered = input - input.mean(-1, true);
    const at::Tensor rows = centered * (centered.square().mean(-1, true) + 1e-5).rsqrt();
    run.set_device(rows * *args[2].as<at::Tensor>() + *args[3].as<at::Tensor>());
    EXPECT_GT(runs_of_a_pass(run), 0);
    at::Tensor wrong = run.device().clone();
    wrong[100][10] += 0.5;
    run.set_device(wrong);
    EXPECT_EQ(run.forward().status, Verdict::kError) << run.forward().reason;
  }
}

}  // namespace
}  // namespace msprobe::strict
