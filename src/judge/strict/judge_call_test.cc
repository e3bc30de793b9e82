// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_call.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libtorch/cpu_types_for_test.h"
#include "strict/calls_for_test.h"
#include "strict/conditioning.h"
#include "strict/finding.h"
#include "strict/own_benchmark.h"

namespace msprobe::strict {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(JudgeCall, CorrectDeviceIsSilent) {
  for (const DType dtype : libtorch::cpu_floats()) {
    const RunCall run(matmul(dtype));
    const Findings findings = run.judge();
    ASSERT_EQ(findings.forward.size(), 1U);
    ASSERT_EQ(findings.backward.size(), 2U);
    EXPECT_EQ(findings.forward[0].status, Verdict::kPass) << findings.forward[0].reason;
    EXPECT_EQ(findings.backward[0].status, Verdict::kPass) << findings.backward[0].reason;
    EXPECT_EQ(findings.backward[1].status, Verdict::kPass) << findings.backward[1].reason;
    EXPECT_EQ(findings.forward[0].cause, "");
  }
}

// What a fault of one element, of one channel and of a few units does to a sound result.
TEST(JudgeCall, OneWrongElementIsSeenWithItsPlace) {
  for (const DType dtype : libtorch::cpu_floats()) {
    RunCall run(matmul(dtype));
    at::Tensor device = run.device().clone();
    device[7][5] = device[7][5] * 2;
    run.set_device(device);
    const StrictFinding finding = run.forward();
    EXPECT_EQ(finding.status, Verdict::kError) << finding.reason;
    EXPECT_THAT(finding.reason, StartsWith("1 of 768 elements is beyond the bound"));
    EXPECT_THAT(finding.reason, HasSubstr("(7, 5)"));
    EXPECT_EQ(finding.cause, "one bad element: (7, 5)");
  }
}

// x - mean(x) is 0 for one element, but not where both are rounded before.
TEST(JudgeCall, NormOfSingleElementsMayLeaveTheirRounding) {
  for (const DType dtype : libtorch::cpu_floats_with_wide_sums()) {
    RunCall run(call("Functional.layer_norm.0",
                     {{tensor({64, 1}, dtype, false, -9, 9)}, {dump::List{{std::int64_t{1}}}}}));
    // Where every element is the same, the check proves little.
    const auto is_silent = testing::AnyOf(Verdict::kPass, Verdict::kInconclusive);
    EXPECT_THAT(run.forward().status, is_silent) << run.forward().reason;
    run.set_device(at::full_like(run.device(), 9 * 0x1p-24 / std::sqrt(1e-5)));
    EXPECT_THAT(run.forward().status, is_silent) << run.forward().reason;
    run.set_device(at::full_like(run.device(), 0.1));
    EXPECT_EQ(run.forward().status, Verdict::kError) << run.forward().reason;
  }
}

// The same operator under its other name.
TEST(JudgeCall, NativeNormOfASingleElementMayLeaveItsRounding) {
  RunCall run(with_backward(
      call("Torch.native_layer_norm.0", {{tensor({1}, DType::kFloat32, true, -4.3, -4.3)},
                                         {dump::List{{std::int64_t{1}}}},
                                         {tensor({1}, DType::kFloat32, true, -8.5, -8.5)},
                                         {tensor({1}, DType::kFloat32, true, -1.8, -1.8)},
                                         {0.5}}),
      {{tensor({1}, DType::kFloat32, false, 1.5, 1.5)}}));
  ASSERT_GT(run.outcome.backward.size(), 1U);
  run.outcome.backward[1].device = {at::full({1}, 4.3 * 0x1p-24 * 1.5)};
  EXPECT_TRUE(is_right(run.judge().backward[1])) << run.judge().backward[1].reason;
  run.outcome.backward[1].device = {at::full({1}, 0.01)};
  EXPECT_EQ(run.judge().backward[1].status, Verdict::kError);
}

// One sum of many that is worse than all others, but not than a running sum in float32 may be.
TEST(JudgeCall, OneSumThatIsWorseThanTheOthersIsSeen) {
  RunCall run(
      call("Torch.sum.0", {{tensor({200, 4096}, DType::kFloat32, false, 0)}, {std::int64_t{1}}}));
  EXPECT_EQ(run.forward().status, Verdict::kPass) << run.forward().reason;
  at::Tensor device = run.device().clone();
  device[7] *= 1 + 0x1p-18;
  run.set_device(device);
  EXPECT_EQ(run.forward().cause, "one bad element: (7)") << run.forward().reason;
}

// The variance of two numbers does not depend on their weights: a gradient of 0, made of terms that
// cancel. They are large beside the arriving gradient, and of a coarser dtype than the result.
TEST(JudgeCall, GradientThatIsAllCancelledMayLeaveTheRoundingOfItsTerms) {
  for (const DType dtype : libtorch::cpu_floats()) {
    RunCall run(
        with_backward(call("Torch.cov.0", {{tensor({2}, dtype, true, -8.5, -1.765625)}},
                           {{"correction", {std::int64_t{1}}},
                            {"aweights", {tensor({2}, DType::kFloat32, true, 0.26, 0.37)}}}),
                      {{tensor({}, DType::kFloat32, false, 1.5, 1.5)}}));
    const Findings findings = run.judge();
    ASSERT_EQ(findings.backward.size(), 2U);
    EXPECT_TRUE(is_right(findings.backward[1])) << findings.backward[1].reason;
    run.outcome.backward[1].device = {at::full({2}, 5000.0F)};
    EXPECT_EQ(run.judge().backward[1].status, Verdict::kError);
  }
}

// Autocast rounds factors and gradients to bfloat16; the gradients of its inputs are float32 again.
TEST(JudgeCall, GradientsUnderAutocastMayErrAsItsDtypeDoes) {
  dump::CallRecord linear =
      with_backward(call("Functional.linear.0", {{tensor({4, 32, 128}, DType::kFloat32, true)},
                                                 {tensor({96, 128}, DType::kFloat32, true)}}),
                    {{tensor({4, 32, 96}, DType::kBFloat16)}});
  linear.forward.output = {{tensor({4, 32, 96}, DType::kBFloat16)}};
  RunCall run(linear);
  const Findings findings = run.judge();
  ASSERT_EQ(findings.backward.size(), 2U);
  for (const StrictFinding& finding : findings.backward) {
    EXPECT_EQ(finding.status, Verdict::kPass) << finding.reason;
  }
  at::Tensor device = run.outcome.backward[0].device.as<at::Tensor>()->clone();
  device[1][2] *= 1.5;
  run.outcome.backward[0].device = {device};
  EXPECT_EQ(run.judge().backward[0].status, Verdict::kError);
}

TEST(JudgeCall, NanInOneElementNeverPasses) {
  RunCall run(matmul(DType::kBFloat16));
  at::Tensor device = run.device().clone();
  device[0][0] = std::numeric_limits<double>::quiet_NaN();
  run.set_device(device);
  EXPECT_EQ(run.forward().status, Verdict::kError);
  EXPECT_THAT(run.forward().cause, StartsWith("NaN or Inf: one element"));
}

// exp(72) is not a float16, on any device; a NaN where the CPU is finite is one of the device.
TEST(JudgeCall, FormulaThatOverflowsSaysNothingOfTheDevice) {
  if (libtorch::cpu_floats().front() != DType::kFloat16)
    GTEST_SKIP() << "no float16 on this PyTorch's CPU";
  RunCall run(call(
      "Functional.soft_margin_loss.0",
      {{tensor({64}, DType::kFloat16, false, -9, 9)}, {tensor({64}, DType::kFloat16, false, 8, 8)}},
      {{"reduction", {std::string("none")}}}));
  ASSERT_FALSE(run.device().isfinite().all().item<bool>());
  EXPECT_EQ(run.forward().status, Verdict::kSkip) << run.forward().reason;
  EXPECT_THAT(run.forward().reason, StartsWith("the formula is not finite in this dtype"));
  for (const int at : {0, 63}) {  // where the CPU is infinite, and where it is finite
    at::Tensor device = run.device().clone();
    device[at] = std::numeric_limits<double>::quiet_NaN();
    RunCall spoiled = run;
    spoiled.set_device(device);
    EXPECT_EQ(spoiled.forward().status, Verdict::kError) << at;
  }
}

TEST(JudgeCall, OneChannelIsSeenAndNamed) {
  RunCall run(call("Functional.conv2d.0", {{tensor({2, 4, 12, 12})}, {tensor({6, 4, 3, 3})}}));
  EXPECT_EQ(run.forward().status, Verdict::kPass) << run.forward().reason;
  at::Tensor device = run.device().clone();
  device.select(1, 3).mul_(1.01);
  run.set_device(device);
  EXPECT_EQ(run.forward().status, Verdict::kError);
  EXPECT_EQ(run.forward().cause, "bad channel: index 3 of dimension 1");
}

// A product is rounded to its half type once, in any direction: two units are a fault.
TEST(JudgeCall, AProductOfAHalfTypeIsOffByOneUnitAtMost) {
  for (const DType dtype : libtorch::cpu_floats_with_wide_sums()) {
    if (dtype == DType::kFloat32) continue;
    RunCall run(call("Torch.matmul.0", {{tensor({16, 300}, dtype, false, 0.5, 1)},
                                        {tensor({300, 16}, dtype, false, 0.5, 1)}}));
    const at::Tensor rounded = run.bench().to(run.device().scalar_type());
    const at::Tensor toward_zero =
        (rounded.view(at::kShort) - rounded.gt(run.bench()).to(at::kShort)).contiguous();
    run.set_device(toward_zero.view(rounded.scalar_type()));
    EXPECT_EQ(run.forward().status, Verdict::kPass) << run.forward().reason;
    at::Tensor two_units = toward_zero.clone();
    two_units[3][4] -= 2;
    run.set_device(two_units.view(rounded.scalar_type()));
    EXPECT_NE(run.forward().status, Verdict::kPass) << run.forward().reason;
  }
}

// Moving data makes no new numbers: one unit is wrong.
TEST(JudgeCall, ExactOperatorsAllowNothing) {
  RunCall run(call("Torch.cat.0", {{dump::List{{tensor({8, 8})}, {tensor({8, 8})}}}}));
  EXPECT_EQ(run.forward().reason, "equal to the rounded benchmark");
  at::Tensor device = run.device().clone();
  device[3][3] = std::nextafter(device[3][3].item<float>(), 10.0F);
  run.set_device(device);
  EXPECT_EQ(run.forward().status, Verdict::kError);
}

TEST(JudgeCall, IntegersAndBoolsAreCompared) {
  RunCall run(call("Torch.gt.0", {{tensor({300})}, {0.25}}));
  EXPECT_EQ(run.forward().status, Verdict::kPass);
  at::Tensor device = run.device().clone();
  device[299] = device[299].logical_not();
  run.set_device(device);
  EXPECT_EQ(run.forward().reason, "1 of 300 elements differ, first at (299)");
}

TEST(JudgeCall, ComplexIsCompared) {
  RunCall run(call("Torch.complex.0", {{tensor({40})}, {tensor({40})}}));
  EXPECT_EQ(run.forward().status, Verdict::kPass) << run.forward().reason;
  run.set_device(run.device().conj().resolve_conj());
  EXPECT_EQ(run.forward().status, Verdict::kError);
}

TEST(JudgeCall, WhatIsKnownToBeIdenticalIsNotComparedAgain) {
  RunCall run(call("Torch.clone.0", {{tensor({64})}}));
  const StrictFinding compared = run.forward();
  run.outcome.forward[0].identical = true;
  const StrictFinding known = run.forward();
  EXPECT_EQ(known.status, compared.status);
  EXPECT_EQ(known.reason, compared.reason);
}

TEST(JudgeCall, ACheckThatProvesLittleSaysSo) {
  const RunCall zeros(call("Torch.mul.0", {{tensor({6}, DType::kFloat32, false, 0, 0)}, {2.0}}));
  EXPECT_EQ(zeros.forward().status, Verdict::kInconclusive);
  EXPECT_THAT(zeros.forward().reason, StartsWith("proves little: it is all zero"));
  const RunCall constant(call("Torch.mul.0", {{tensor({6}, DType::kFloat32, false, 3, 3)}, {2.0}}));
  EXPECT_THAT(constant.forward().reason, StartsWith("proves little: all elements are equal"));
}

// The true sum is the small rest of large terms: the bound grows with the terms, and no further.
TEST(JudgeCall, CancellationIsAllowedForAndNoMore) {
  RunCall run(call("Torch.sub.0", {{tensor({64}, DType::kFloat32, false, 1000, 1001)},
                                   {tensor({64}, DType::kFloat32, false, 1000, 1001)}}));
  run.set_device(run.device() + 2e-4F);
  EXPECT_EQ(run.forward().status, Verdict::kPass) << run.forward().reason;
  run.set_device(run.device() + 2e-2F);
  EXPECT_EQ(run.forward().status, Verdict::kError);
}

TEST(JudgeCall, RandomResultsAreComparedByProperty) {
  RunCall run(
      call("Functional.dropout.0", {{tensor({64, 32})}}, {{"p", {0.3}}, {"training", {true}}}));
  const at::Tensor input = *run.outcome.arguments.call.args[0].as<at::Tensor>();
  const auto dropped = [&](double p, double scale) {
    return at::where(at::rand(input.sizes()) < p, at::zeros_like(input), input * scale);
  };
  run.set_device(dropped(0.3, 1 / 0.7));
  EXPECT_EQ(run.forward().status, Verdict::kPass) << run.forward().reason;
  EXPECT_THAT(run.forward().reason, StartsWith("random: "));
  run.set_device(dropped(0.5, 1 / 0.7));
  EXPECT_EQ(run.forward().status, Verdict::kError) << "another share";
  run.set_device(dropped(0.3, 1));
  EXPECT_EQ(run.forward().status, Verdict::kError) << "another scale";
  at::Tensor odd = dropped(0.3, 1 / 0.7);
  odd[5][5] = std::numeric_limits<float>::infinity();
  run.set_device(odd);
  EXPECT_EQ(run.forward().status, Verdict::kError) << "infinite";
}

// The device's numbers are those of the same seed: each element is compared.
TEST(JudgeCall, ARandomResultOfTheSameDrawIsComparedElementByElement) {
  if (!has_attention()) GTEST_SKIP() << "no attention in this PyTorch";
  const auto heads = [] { return tensor({2, 4, 32, 16}, DType::kFloat32, true); };
  RunCall run(with_backward(call("Functional.scaled_dot_product_attention.0",
                                 {{heads()}, {heads()}, {heads()}}, {{"dropout_p", {0.1}}}),
                            {{heads()}}));
  const Findings findings = run.judge();
  EXPECT_EQ(findings.forward[0].status, Verdict::kPass) << findings.forward[0].reason;
  EXPECT_THAT(findings.forward[0].reason, HasSubstr("elements differ, by at most"));
  ASSERT_EQ(findings.backward.size(), 3U);
  for (const StrictFinding& finding : findings.backward) {
    EXPECT_EQ(finding.status, Verdict::kPass) << finding.reason;
    EXPECT_THAT(finding.reason, HasSubstr("elements differ, by at most"));
  }
}

// What runs of single leaves tell is what runs of all leaves would.
TEST(JudgeCall, ARunThatComputesOneLeafMovesItAsARunOfAllDoes) {
  const auto floats = [](Shape shape) -> dump::Value {
    return {tensor(std::move(shape), DType::kFloat32, true)};
  };
  struct Row {
    dump::CallRecord record;
    std::string path;  // of a gradient
  };
  const Row rows[] = {
      {with_backward(call("Torch.addmm.0", {floats({24}), floats({16, 40}), floats({40, 24})}),
                     {{tensor({16, 24})}}),
       "0"},
      {with_backward(
           call("Functional.linear.0", {floats({3, 50, 40}), floats({24, 40}), floats({24})}),
           {{tensor({3, 50, 24})}}),
       "2"},
      {with_backward(call("Functional.conv2d.0", {floats({2, 4, 9, 9}),
                                                  floats({6, 2, 3, 3}),
                                                  floats({6}),
                                                  {std::int64_t{2}},
                                                  {std::int64_t{1}},
                                                  {std::int64_t{1}},
                                                  {std::int64_t{2}}}),
                     {{tensor({2, 6, 5, 5})}}),
       "0"},
  };
  for (const auto& [record, path] : rows) {
    const RunCall run(record);
    execute::Rerun rerun(record, run.options);
    const LeafTensors base = tensors_of(run.outcome, Side::kBench);
    Conditioning all(rerun, record.full_name, base, {});
    Conditioning single(rerun, record.full_name, base, {}, 0, true);
    const auto expect_equal = [&](int runs, Direction direction, const std::string& leaf) {
      all.measure(runs, direction, leaf);
      single.measure(runs, direction, leaf);
      EXPECT_TRUE(all.spread(direction, leaf).equal(single.spread(direction, leaf)))
          << record.full_name << " " << leaf;
      EXPECT_EQ(all.runs(), single.runs());
    };
    const std::string other = path == "0" ? "2" : "0";
    expect_equal(3, Direction::kBackward, path);
    EXPECT_FALSE(single.spread(Direction::kBackward, other).defined());
    expect_equal(1, Direction::kBackward, other);  // as many as the first one had
    expect_equal(1, Direction::kForward, "0");
  }
}

// Four draws tell what may become of an element: a value of a dropout that is neither kept nor
// dropped is seen in nearly every place.
TEST(JudgeCall, OneWrongValueOfADropoutIsSeen) {
  RunCall run(
      call("Functional.dropout.0", {{tensor({64, 64})}}, {{"p", {0.1}}, {"training", {true}}}));
  const at::Tensor input = *run.outcome.arguments.call.args[0].as<at::Tensor>();
  at::Tensor device =
      at::where(at::rand(input.sizes()) >= 0.1, input / 0.9F, at::zeros_like(input));
  device[40][7] = input[40][7] * 1.3;
  run.set_device(device);
  EXPECT_EQ(run.forward().status, Verdict::kError) << run.forward().reason;
}

// Most elements are then kept in every draw of the benchmark.
TEST(JudgeCall, ARareDropIsNoOutlier) {
  RunCall run(
      call("Functional.dropout.0", {{tensor({64, 64})}}, {{"p", {0.1}}, {"training", {true}}}));
  const at::Tensor input = *run.outcome.arguments.call.args[0].as<at::Tensor>();
  const at::Tensor kept = at::rand(input.sizes()) >= 0.1;
  run.set_device(at::where(kept, input / 0.9F, at::zeros_like(input)));
  EXPECT_EQ(run.forward().status, Verdict::kPass) << run.forward().reason;
}

TEST(JudgeCall, RandomNumbersAreComparedByDistribution) {
  RunCall run(call("Torch.normal.0", {{tensor({2000}, DType::kFloat32, false, 0, 9)},
                                      {tensor({2000}, DType::kFloat32, false, 1, 2)}}));
  const at::Tensor mean = *run.outcome.arguments.call.args[0].as<at::Tensor>();
  const at::Tensor deviation = *run.outcome.arguments.call.args[1].as<at::Tensor>();
  run.set_device(mean + deviation * at::randn({2000}));
  EXPECT_EQ(run.forward().status, Verdict::kPass) << run.forward().reason;
  run.set_device(mean + 2 * deviation * at::randn({2000}));
  EXPECT_EQ(run.forward().status, Verdict::kError);
  run.set_device(mean.flip(0) + deviation * at::randn({2000}));
  EXPECT_EQ(run.forward().status, Verdict::kError);
}

TEST(JudgeCall, FactorsAreComparedByWhatTheyGive) {
  RunCall run(call("Torch.linalg.svd.0", {{tensor({20, 12})}}));
  run.set_device(-run.device(0), 0);
  run.set_device(-run.device(2), 2);
  for (const std::size_t i : {0U, 1U, 2U}) {
    EXPECT_EQ(run.forward(i).status, Verdict::kPass) << i << run.forward(i).reason;
  }
  at::Tensor wrong = run.device(0).clone();
  wrong[3][3] += 1e-3;
  run.set_device(wrong, 0);
  EXPECT_EQ(run.forward(0).status, Verdict::kError);

  RunCall qr(call("Torch.linalg.qr.0", {{tensor({9, 9})}}));
  qr.set_device(-qr.device(0), 0);
  qr.set_device(-qr.device(1), 1);
  EXPECT_EQ(qr.forward(0).status, Verdict::kPass) << qr.forward(0).reason;
  qr.set_device(-qr.device(1), 1);
  EXPECT_EQ(qr.forward(0).status, Verdict::kError);
}

TEST(JudgeCall, TiesMayBeBrokenOtherwise) {
  RunCall run(call("Torch.sort.0", {{tensor({50}, DType::kFloat32, false, 2, 2)}}));
  run.set_device(run.device(1).flip(0), 1);
  EXPECT_EQ(run.forward(1).status, Verdict::kPass) << run.forward(1).reason;

  RunCall other(call("Torch.sort.0", {{tensor({50})}}));
  other.set_device(other.device(1).flip(0), 1);
  EXPECT_EQ(other.forward(1).status, Verdict::kError);
}

TEST(JudgeCall, ATailThatADropoutNeverWroteIsSeen) {
  RunCall run(call("Functional.dropout.0", {{tensor({40, 60}, DType::kBFloat16)}, {0.3}, {true}}));
  at::Tensor device = run.device().clone();
  EXPECT_EQ(run.forward().status, Verdict::kPass) << run.forward().reason;
  device.slice(0, 38).zero_();
  run.set_device(device);
  EXPECT_EQ(run.forward().status, Verdict::kError) << run.forward().reason;
  EXPECT_THAT(run.forward().cause, StartsWith("lost: "));
}

TEST(JudgeCall, Tf32InputsPassWhereTheyAreAllowed) {
  RunCall run(matmul(DType::kFloat32));
  std::vector<at::Tensor> inputs;
  for (const auto& value : run.outcome.arguments.call.args) {
    auto [mantissa, exponent] = at::frexp(value.as<at::Tensor>()->detach().to(at::kDouble));
    inputs.push_back(at::ldexp((mantissa * 2048).round() / 2048, exponent).to(at::kFloat));
  }
  run.set_device(at::matmul(inputs[0], inputs[1]));
  EXPECT_EQ(run.forward().status, Verdict::kError);
  run.options.arguments.replay.allow_tf32 = true;
  const auto allowed = [&] { return judge_call(run.record, run.options, run.outcome); };
  EXPECT_EQ(allowed().forward[0].status, Verdict::kPass) << allowed().forward[0].reason;
  run.set_device(at::matmul(inputs[0], inputs[1]) * 1.01);
  EXPECT_EQ(allowed().forward[0].status, Verdict::kError);
}

TEST(JudgeCall, ShapesAndMissingOutputsAreErrors) {
  RunCall run(matmul(DType::kFloat32));
  run.set_device(run.device().t());
  EXPECT_EQ(run.forward().reason, "shape (32, 24), the benchmark's is (24, 32)");
  run.outcome.forward[0].state = execute::LeafPair::State::kDeviceMissing;
  EXPECT_EQ(run.forward().status, Verdict::kError);
}

TEST(JudgeCall, AWrongGradientOfARightOutputIsSaid) {
  RunCall run(matmul(DType::kFloat32));
  run.outcome.backward[1].device = {*run.outcome.backward[1].device.as<at::Tensor>() * 2};
  const Findings findings = run.judge();
  EXPECT_EQ(findings.forward[0].status, Verdict::kPass);
  EXPECT_EQ(findings.backward[0].status, Verdict::kPass);
  EXPECT_EQ(findings.backward[1].status, Verdict::kError);
  EXPECT_EQ(findings.backward[1].cause, "wrong scale: 2 times the benchmark; gradient only");
}

}  // namespace
}  // namespace msprobe::strict
