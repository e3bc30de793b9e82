// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "divergence/classify.h"
#include "divergence/flow.h"
#include "divergence/made_run_for_test.h"

namespace msprobe::divergence {
namespace {

using Calls = std::vector<MadeCall>;

struct Answer {
  Classified classified;
  std::string call;    // of the target; empty: the runs agree
  std::string golden;  // its partner
  Cause cause = Cause::kCall;
};

Answer compare(const Calls& target_calls, const Calls& golden_calls) {
  const Trace target = made_run(target_calls);
  const Trace golden = made_run(golden_calls);
  const bool exact = target.has_checksums && golden.has_checksums;
  Answer answer;
  answer.classified = classify(target, golden, align(target, golden, exact), exact);
  const Event* const first = first_event(answer.classified);
  if (first == nullptr) return answer;
  answer.call = target.calls[first->call].entry;
  if (first->golden != kNoCall) answer.golden = golden.calls[first->golden].entry;
  answer.cause = first->cause;
  return answer;
}

// x -> linear -> gelu -> linear -> ... and back, each with a weight.
Calls chain(int layers, double noise = 0, int wrong = -1) {
  std::mt19937 random(7);
  std::normal_distribution<double> jitter(0, noise);
  const auto shaken = [&](const MadeTensor& tensor) { return tensor.times(1 + jitter(random)); };
  Calls calls;
  std::vector<MadeTensor> values{MadeTensor(1.7)};
  double spoiled = 1;
  for (int i = 0; i < layers; ++i) {
    const bool linear = i % 2 == 0;
    const MadeTensor weight = MadeTensor(0.3 + 0.013 * i).of({8, 8});
    if (i == wrong) spoiled = 1.3;
    const MadeTensor out = shaken(MadeTensor((linear ? 1.1 : 2.3) + 0.17 * i).times(spoiled));
    calls.push_back({linear ? "Functional.linear" : "Functional.gelu",
                     linear ? std::vector{values.back(), weight} : std::vector{values.back()},
                     {out}});
    values.push_back(out);
  }
  return calls;
}

TEST(FirstDivergence, RunsThatAgreeNameNone) {
  EXPECT_EQ(compare(chain(20), chain(20)).call, "");
  const Answer answer = compare(chain(20, 1e-5), chain(20));
  EXPECT_EQ(answer.call, "");
  EXPECT_EQ(answer.classified.agreeing, 20);
}

TEST(FirstDivergence, IsTheCallWhoseInputsAgree) {
  const Answer answer = compare(chain(20, 1e-6, 6), chain(20));
  EXPECT_EQ(answer.call, "Functional.linear.3.forward");
  EXPECT_EQ(answer.cause, Cause::kCall);
  EXPECT_EQ(answer.classified.introducing, 1);
  EXPECT_EQ(answer.classified.inheriting, 13);
}

TEST(FirstDivergence, SurvivesCallsRemovedInsertedRenamedAndComputedAgain) {
  Calls target = chain(20, 1e-6, 12);
  target[1].api = "NPU.fast_gelu";                                             // renamed
  target.insert(target.begin() + 12, target.begin() + 2, target.begin() + 6);  // computed again
  target.erase(target.begin() + 4, target.begin() + 6);                        // removed
  target.insert(target.begin() + 2, {"Torch.zeros", {}, {MadeTensor(0.0)}});   // inserted
  const Answer answer = compare(target, chain(20));
  EXPECT_EQ(answer.golden, "Functional.linear.6.forward");
  EXPECT_EQ(answer.classified.introducing, 1);
  EXPECT_EQ(answer.classified.target_only, 1);
  EXPECT_EQ(answer.classified.renamed, 1);
}

TEST(FirstDivergence, AFusedCallIsNoDivergence) {
  Calls golden = chain(20);
  Calls target = golden;
  // linear, gelu -> one call; and the other way round.
  MadeCall fused{"NPU.linear_gelu", target[4].inputs, target[5].outputs};
  target.erase(target.begin() + 4);
  target[4] = fused;
  EXPECT_EQ(compare(target, golden).call, "");
  EXPECT_EQ(compare(golden, target).call, "");
}

TEST(FirstDivergence, ARenamedCallCanBeWrong) {
  Calls target = chain(20, 0, 6);
  target[6].api = "NPU.fast_linear";
  const Answer answer = compare(target, chain(20));
  EXPECT_EQ(answer.call, "NPU.fast_linear.0.forward");
  EXPECT_EQ(answer.golden, "Functional.linear.3.forward");
}

TEST(FirstDivergence, OtherWeightsComeFromOutside) {
  Calls target = chain(20, 0, 4);
  target[4].inputs[1] = target[4].inputs[1].times(1.4);
  const Answer answer = compare(target, chain(20));
  EXPECT_EQ(answer.call, "Functional.linear.2.forward");
  EXPECT_EQ(answer.cause, Cause::kOutside);
}

TEST(FirstDivergence, AmplificationCountsFromTenfold) {
  const auto pair = [](double in, double out) {
    return compare({{"Torch.exp", {MadeTensor(1 + in)}, {MadeTensor(2 * (1 + out))}}},
                   {{"Torch.exp", {MadeTensor(1)}, {MadeTensor(2)}}});
  };
  EXPECT_EQ(pair(0.004, 0.03).cause, Cause::kGrowth);
  EXPECT_EQ(pair(0.004, 0.05).cause, Cause::kCall);
  EXPECT_EQ(pair(0.004, 0.009).call, "");
  EXPECT_EQ(pair(0.2, 5).cause, Cause::kOutside);
}

TEST(FirstDivergence, OtherArgumentsAreSaid) {
  Calls target{{"Functional.dropout", {1.0}, {1.0}, "forward", {{"input.1", 0.0}}}};
  Calls golden{{"Functional.dropout", {1.0}, {1.3}, "forward", {{"input.1", 0.1}}}};
  const Answer answer = compare(target, golden);
  EXPECT_EQ(answer.call, "Functional.dropout.0.forward");
  EXPECT_TRUE(answer.classified.events.at(0).other_arguments);
}

TEST(FirstDivergence, UninitialisedMemoryCountsWhereItIsUsed) {
  const auto run = [](double garbage, double used) -> Calls {
    return {{"Torch.empty", {}, {MadeTensor(garbage)}},
            {"Tensor.fill_", {MadeTensor(garbage)}, {MadeTensor(1)}},
            {"Torch.mul", {MadeTensor(1), MadeTensor(garbage).of({4})}, {MadeTensor(used)}}};
  };
  EXPECT_EQ(compare(run(5, 2), run(90, 2)).call, "");
  Calls target = run(5, 2);
  Calls golden = run(90, 7);
  target[2].inputs[1] = target[0].outputs[0];
  golden[2].inputs[1] = golden[0].outputs[0];
  const Answer answer = compare(target, golden);
  EXPECT_EQ(answer.call, "Torch.empty.0.forward");
  EXPECT_EQ(answer.cause, Cause::kUninitialised);
}

// What is left of 1 - 1 shares no digit between two devices.
TEST(FirstDivergence, RoundingOfCancelledSumsIsNone) {
  const auto run = [](double left, double right, double third) -> Calls {
    Calls calls;
    for (const double value : {left, right, third}) {
      calls.push_back({"Torch.sum",
                       {MadeTensor(100 + static_cast<double>(calls.size()))},
                       {MadeTensor(value).of({})}});
    }
    return calls;
  };
  EXPECT_EQ(compare(run(1e-6, 3e-6, 2e-6), run(2e-6, 1e-6, 7e-6)).call, "");
  // A single one that differs among several that agree is not chance.
  EXPECT_EQ(compare(run(1e-6, 3e-6, 2e-6), run(1e-6, 3e-6, 7e-6)).call, "Torch.sum.2.forward");
}

TEST(FirstDivergence, ChecksumsDecideWhereBothHaveThem) {
  const auto run = [](const std::string& end) -> Calls {
    return {{"Torch.add", {MadeTensor(1).with_checksum("a")}, {MadeTensor(2).with_checksum("b")}},
            {"Torch.mul", {MadeTensor(2).with_checksum("b")}, {MadeTensor(3).with_checksum(end)}},
            {"Torch.exp",
             {MadeTensor(3).with_checksum(end)},
             {MadeTensor(4).with_checksum("e" + end)}}};
  };
  EXPECT_EQ(compare(run("c"), run("c")).call, "");
  const Answer answer = compare(run("c"), run("d"));
  EXPECT_EQ(answer.call, "Torch.mul.0.forward");
  EXPECT_EQ(answer.classified.inheriting, 1);
}

TEST(FirstDivergence, NaNOnOneSideIsADifference) {
  Calls target = chain(6);
  target[3].outputs[0].max = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(compare(target, chain(6)).call, "Functional.gelu.1.forward");
  Calls golden = chain(6);
  golden[3].outputs[0].max = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(compare(target, golden).call, "");
}

// The loss is wrong, so are the gradients of its backward pass, though what arrives there is 1.
TEST(FirstDivergence, ABackwardPassInheritsFromItsForwardPass) {
  const auto run = [](double out, double gradient) -> Calls {
    return {{"Functional.linear", {1.0}, {MadeTensor(out)}},
            {"Functional.mse_loss", {MadeTensor(out)}, {MadeTensor(0.5 * out)}},
            {"Functional.mse_loss", {5.0}, {MadeTensor(gradient)}, "backward"}};
  };
  const Answer answer = compare(run(2, 9), run(3, 5));
  EXPECT_EQ(answer.call, "Functional.linear.0.forward");
  EXPECT_EQ(answer.classified.events.size(), 1);
  EXPECT_EQ(answer.classified.inheriting, 2);
}

// A module's parameter gradients come before its backward entry, whose inputs they share.
TEST(FirstDivergence, ParameterGradientsInherit) {
  const auto run = [](double loss, double gradient) -> Calls {
    return {{"Functional.mse_loss", {1.0}, {MadeTensor(loss)}, "backward"},
            {"Module.fc.Linear", {}, {MadeTensor(gradient).of({8})}, "parameters_grad"},
            {"Module.fc.Linear", {MadeTensor(loss)}, {MadeTensor(gradient)}, "backward"}};
  };
  const Answer answer = compare(run(2, 9), run(3, 5));
  EXPECT_EQ(answer.call, "Functional.mse_loss.0.backward");
  EXPECT_EQ(answer.classified.introducing, 1);
}

TEST(Flow, TensorsAreKnownAgainByTheirValues) {
  const MadeTensor x(1), w(2), y(3), z(4);
  const Trace run = made_run({{"Functional.linear", {x, w}, {y}},
                              {"Module.fc.Linear", {x}, {y}},
                              {"Torch.relu", {y}, {z}},
                              {"Torch.mul", {y, y, z}, {x}}});
  const std::vector<FlowEdge> wanted{{0, 2}, {0, 3}, {2, 3}};
  EXPECT_EQ(find_flow(run), wanted);
  const Trace modules = made_run({{"Module.a.Linear", {x}, {y}}, {"Module.b.Linear", {y}, {z}}});
  EXPECT_EQ(find_flow(modules), (std::vector<FlowEdge>{{0, 1}}));
}

}  // namespace
}  // namespace msprobe::divergence
