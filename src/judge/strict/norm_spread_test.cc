// SPDX-License-Identifier: Apache-2.0
#include "strict/norm_spread.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <gtest/gtest.h>

#include "strict/bound.h"
#include "strict/calls_for_test.h"

namespace msprobe::strict {
namespace {

using arguments::PyCall;

// Results and gradients of one batch normalisation, in float64.
struct NormResults {
  at::Tensor result, input, weight, bias;
};

NormResults normalise(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      const at::Tensor& gradient) {
  const auto [result, mean, scale] =
      at::native_batch_norm(x, weight, bias, {}, {}, /*training=*/true, 0.1, 1e-5);
  const auto [of_input, of_weight, of_bias] = at::native_batch_norm_backward(
      gradient, x, weight, {}, {}, mean, scale, /*train=*/true, 1e-5, {true, true, true});
  return {result, of_input, of_weight, of_bias};
}

at::Tensor moved_by_chance(const at::Tensor& given) {
  const at::Tensor wide = given.to(at::kDouble);
  return wide * (1 + (at::rand_like(wide) * 2 - 1) * (kFloatEps / 2));
}

// F.batch_norm(x, None, None, weight, bias, True, 0.1, 1e-5).
PyCall norm_of(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  PyCall call;
  call.args = {{x}, {}, {}, {weight}, {bias}, {true}, {0.1}, {1e-5}};
  return call;
}

void expect_near(const at::Tensor& spread, const at::Tensor& squares, int runs, double most) {
  const at::Tensor ratio = spread / (squares / runs).sqrt();
  EXPECT_LT(ratio.max().item<double>(), most);
  EXPECT_GT(ratio.min().item<double>(), 1 / most);
}

TEST(NormSpread, IsWhatManyRunsShow) {
  constexpr int kRuns = 400;
  at::manual_seed(11);
  for (const double mean : {0.0, 3.0, -40.0}) {
    const at::Tensor x = at::randn({4, 3, 5, 7}) + mean;
    const at::Tensor weight = at::randn({3});
    const at::Tensor bias = at::randn({3});
    const at::Tensor gradient = at::randn({4, 3, 5, 7}) + 0.3 * (x - mean) + 0.5;
    const auto base = normalise(x.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble),
                                gradient.to(at::kDouble));
    NormResults squares{at::zeros_like(base.result), at::zeros_like(base.input),
                        at::zeros_like(base.weight), at::zeros_like(base.bias)};
    for (int i = 0; i < kRuns; ++i) {
      const auto run = normalise(moved_by_chance(x), moved_by_chance(weight), moved_by_chance(bias),
                                 moved_by_chance(gradient));
      squares.result += (run.result - base.result).square();
      squares.input += (run.input - base.input).square();
      squares.weight += (run.weight - base.weight).square();
      squares.bias += (run.bias - base.bias).square();
    }
    const auto spread = NormSpread::of(norm_of(x, weight, bias), gradient);
    ASSERT_TRUE(spread);
    expect_near(spread->of_result(), squares.result, kRuns, 1.25);
    expect_near(spread->of_gradient(x), squares.input, kRuns, 1.25);
    expect_near(spread->of_gradient(weight), squares.weight, kRuns, 1.15);
    expect_near(spread->of_gradient(bias), squares.bias, kRuns, 1.15);
    EXPECT_FALSE(spread->of_gradient(gradient).defined());
  }
}

TEST(NormSpread, IsKnownOfLargeChannelsInTrainingOnly) {
  const at::Tensor x = at::randn({4, 3, 8, 8});
  const at::Tensor weight = at::ones({3});
  EXPECT_TRUE(NormSpread::of(norm_of(x, weight, weight), {}));
  EXPECT_FALSE(NormSpread::of(norm_of(x.to(at::kHalf), weight, weight), {}));
  EXPECT_FALSE(NormSpread::of(norm_of(x, weight, weight), at::ones({4, 3, 8, 8}, at::kDouble)));
  EXPECT_FALSE(NormSpread::of(norm_of(at::randn({1, 3, 5, 5}), weight, weight), {}));
  EXPECT_FALSE(NormSpread::of(norm_of(at::randn({512, 3}), weight, weight), {}));
  PyCall given_statistics = norm_of(x, weight, weight);
  given_statistics.args[5] = {false};
  EXPECT_FALSE(NormSpread::of(given_statistics, {}));
}

// Whole runs of channels at a time: many short ones, and one that is longer than what is taken.
TEST(NormSpread, SlicesAreThoseOfTheWhole) {
  for (const std::int64_t length : {16, 49, 40000}) {
    const at::Tensor x = at::randn({4, length > 1000 ? 3 : 700, length});
    const at::Tensor weight = at::randn({x.size(1)});
    const auto spread = NormSpread::of(norm_of(x, weight, weight), at::randn_like(x));
    ASSERT_TRUE(spread);
    std::int64_t next = 0;
    int slices = 0;
    const at::Tensor all = spread->of_result().view({-1});
    spread->for_result([&](std::int64_t start, std::span<const double> spreads) {
      EXPECT_EQ(start, next);
      next += static_cast<std::int64_t>(spreads.size());
      ++slices;
      return std::ranges::equal(spreads, std::span(all.data_ptr<double>() + start, spreads.size()));
    });
    EXPECT_EQ(next, x.numel()) << length;
    EXPECT_GT(slices, 1) << length;
    int taken = 0;
    spread->for_gradient_of_input(
        [&](std::int64_t, std::span<const double>) { return ++taken < 2; });
    EXPECT_EQ(taken, 2);
  }
}

dump::CallRecord batch_norm_call() {
  const auto number = [](double value) { return dump::Value{value}; };
  return with_backward(
      call("Functional.batch_norm.0", {{tensor({4, 6, 20, 20}, DType::kFloat32, true)},
                                       {tensor({6})},
                                       {tensor({6}, DType::kFloat32, false, 0.5, 2)},
                                       {tensor({6}, DType::kFloat32, true)},
                                       {tensor({6}, DType::kFloat32, true)},
                                       {true},
                                       number(0.1),
                                       number(1e-5)}),
      {{tensor({4, 6, 20, 20})}});
}

TEST(NormSpread, ABatchNormalisationNeedsNoFurtherRun) {
  const Findings findings = RunCall(batch_norm_call()).judge();
  EXPECT_EQ(findings.runs, 0);
  for (const StrictFinding& finding : findings.forward) {
    EXPECT_EQ(finding.status, Verdict::kPass) << finding.reason;
  }
  for (const std::size_t i : {0, 3, 4}) {
    EXPECT_EQ(findings.backward[i].status, Verdict::kPass) << findings.backward[i].reason;
  }
}

// Half a unit of the inputs moves no element that far.
TEST(NormSpread, OneElementThatIsOffIsFound) {
  for (const bool of_result : {true, false}) {
    RunCall run(batch_norm_call());
    auto& leaf = of_result ? run.outcome.forward[0] : run.outcome.backward[0];
    at::Tensor spoiled = leaf.device.as<at::Tensor>()->detach().clone();
    spoiled.view({-1})[777] += spoiled.abs().max() * 1e-4;
    leaf.device = {spoiled};
    const Findings findings = run.judge();
    const StrictFinding& finding = of_result ? findings.forward[0] : findings.backward[0];
    EXPECT_EQ(finding.status, Verdict::kError) << finding.reason;
  }
}

TEST(NormSpread, ANumberThatIsNotFiniteLeavesOtherChannelsAlone) {
  at::Tensor x = at::randn({4, 3, 8, 8});
  x[1][1][2][3] = NAN;
  const auto spread = NormSpread::of(norm_of(x, at::ones({3}), at::zeros({3})), {});
  ASSERT_TRUE(spread);
  const at::Tensor found = spread->of_result();
  EXPECT_TRUE(found.select(1, 0).gt(0).all().item<bool>());
  EXPECT_TRUE(found.select(1, 1).eq(0).all().item<bool>());
  EXPECT_TRUE(found.select(1, 2).gt(0).all().item<bool>());
}

}  // namespace
}  // namespace msprobe::strict
