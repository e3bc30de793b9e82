// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "libtorch/aten.h"
#include "worker/agreement.h"
#include "worker/measure_outcome.h"
#include "worker/replay_tally.h"

namespace msprobe::worker {
namespace {

using arguments::PyValue;
using execute::LeafPair;
using protocol::LeafKind;

LeafPair pair_of(PyValue bench, PyValue device, std::string path = "0") {
  LeafPair pair;
  pair.path = std::move(path);
  pair.bench = std::move(bench);
  pair.device = std::move(device);
  return pair;
}

at::Tensor floats(std::initializer_list<float> values) {
  return at::tensor(at::ArrayRef<float>(values));
}

TEST(Agreement, EqualBitsAndNanAtTheSamePlaceAreEqual) {
  const at::Tensor a = floats({1, NAN, 0});
  EXPECT_EQ(compare(pair_of({a}, {a.clone()}), "add").likeness, Likeness::kEqual);
}

TEST(Agreement, TwoUlpAndTheOtherZeroAreClose) {
  const float one_up = std::nextafter(1.0F, 2.0F);
  EXPECT_EQ(compare(pair_of({floats({1})}, {floats({one_up})}), "add").likeness, Likeness::kClose);
  EXPECT_EQ(compare(pair_of({floats({0})}, {floats({-0.0F})}), "add").likeness, Likeness::kClose);
  EXPECT_EQ(compare(pair_of({floats({1})}, {floats({1.001F})}), "add").likeness, Likeness::kBeyond);
}

TEST(Agreement, DtypesAndShapesAreCompared) {
  const at::Tensor a = floats({1, 2});
  EXPECT_EQ(compare(pair_of({a}, {a.to(at::kDouble)}), "add").text,
            "dtype torch.float32 against recorded torch.float64");
  EXPECT_EQ(compare(pair_of({a}, {a.reshape({2, 1})}), "add").text,
            "shape (2) against recorded (2, 1)");
}

TEST(Agreement, UninitialisedMemoryIsNotComparable) {
  const Agreement found = compare(pair_of({floats({1})}, {floats({7})}), "empty_like");
  EXPECT_EQ(found.likeness, Likeness::kNotComparable);
  EXPECT_EQ(found.text, "uninitialised memory");
}

TEST(ReplayTally, NamesWhatIsBeyondAndWhatDidNotRun) {
  ReplayTally tally("outputs");
  Replayed good;
  good.add("0", {});
  tally.add("Torch.add.0", good);
  EXPECT_TRUE(tally.is_good());
  Replayed bad;
  bad.add("0", {Likeness::kBeyond, "3 ulp"});
  tally.add("Torch.mul.0", bad);
  tally.add("Torch.sub.0", {Replayed::State::kNotRun, {}, Likeness::kEqual, "no such API"});
  EXPECT_FALSE(tally.is_good());
  EXPECT_EQ(tally.text(),
            "outputs: 3 calls, 1 did not run; 1 equal, 0 within 2 ulp, 1 beyond, 0 not comparable\n"
            "  beyond: Torch.mul.0 0: 3 ulp\n"
            "  did not run: 1 x no such API (Torch.sub.0)\n");
}

protocol::MeasuredCall measured(std::vector<LeafPair> forward, const std::string& name) {
  execute::CallOutcome outcome;
  outcome.forward = std::move(forward);
  protocol::CallRequest request;
  request.full_name = name;
  return measure_outcome(request, outcome, {});
}

TEST(MeasureOutcome, TensorsAreMeasuredAndDescribed) {
  const protocol::MeasuredCall call =
      measured({pair_of({floats({1, 2, 3})}, {floats({1, 2, 4})})}, "Torch.add.0");
  ASSERT_EQ(call.forward.size(), 1U);
  EXPECT_EQ(call.forward[0].kind, LeafKind::kTensor);
  EXPECT_EQ(call.forward[0].device.dtype, DType::kFloat32);
  EXPECT_EQ(call.forward[0].device.shape, (Shape{3}));
  EXPECT_EQ(call.forward[0].metrics.max_abs_error, 1);
  EXPECT_FALSE(call.forward[0].dropout);
}

TEST(MeasureOutcome, IdenticalTensorsAreMarked) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  execute::CallOutcome outcome;
  outcome.forward = {pair_of({floats({1, nan})}, {floats({1, nan})}),
                     pair_of({floats({1, 2})}, {floats({1, 3})}),
                     pair_of({floats({1, 2})}, {floats({1})}), pair_of({1.5}, {1.5})};
  outcome.backward = {pair_of({floats({4})}, {floats({4})})};
  mark_identical(measure_outcome({}, outcome, {}), outcome);
  std::vector<bool> marks;
  for (const LeafPair& pair : outcome.forward) marks.push_back(pair.identical);
  EXPECT_EQ(marks, std::vector<bool>({true, false, false, false}));
  EXPECT_TRUE(outcome.backward.front().identical);
}

TEST(MeasureOutcome, WhatCannotBeMeasuredIsNamed) {
  const at::Tensor a = floats({1, 2});
  LeafPair missing = pair_of({a}, {});
  missing.state = LeafPair::State::kDeviceMissing;
  const protocol::MeasuredCall call = measured(
      {pair_of({a}, {a.reshape({2, 1})}), missing, pair_of({}, {}), pair_of({true}, {1.5})},
      "Torch.add.0");
  EXPECT_EQ(call.forward[0].kind, LeafKind::kShapesDiffer);
  EXPECT_EQ(call.forward[1].kind, LeafKind::kDeviceMissing);
  EXPECT_EQ(call.forward[2].kind, LeafKind::kNone);
  EXPECT_EQ(call.forward[3].kind, LeafKind::kTypesDiffer);
  EXPECT_EQ(call.forward[3].bench.value, PythonValue(true));
  EXPECT_EQ(call.forward[3].device.value, PythonValue(1.5));
}

TEST(MeasureOutcome, DropoutCountsZeros) {
  const protocol::MeasuredCall call =
      measured({pair_of({floats({0, 2, 3})}, {floats({0, 0, 4})})}, "Functional.dropout.0");
  ASSERT_TRUE(call.forward[0].dropout);
  EXPECT_EQ(call.forward[0].dropout->probability, 0.5);
}

}  // namespace
}  // namespace msprobe::worker
