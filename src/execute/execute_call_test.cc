// SPDX-License-Identifier: Apache-2.0
#include "execute/execute_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "execute/precision.h"
#include "execute/recorded_gradients.h"
#include "libtorch/autograd.h"

namespace msprobe::execute {
namespace {

using arguments::PyCall;
using arguments::PyList;
using dump::Statistic;
using dump::TensorRecord;
using testing::HasSubstr;

TensorRecord tensor(Shape shape, bool grad = false, DType dtype = DType::kFloat32) {
  TensorRecord record;
  record.dtype = dtype;
  record.dtype_text = text(dtype);
  record.shape = std::move(shape);
  record.min = {Statistic::Kind::kReal, 0, -1};
  record.max = {Statistic::Kind::kReal, 0, 2};
  record.requires_grad = grad;
  return record;
}

dump::CallRecord call(std::string name, dump::List args, dump::Dict kwargs = {}) {
  dump::CallRecord record;
  record.full_name = std::move(name);
  record.forward.input_args = std::move(args);
  record.forward.input_kwargs = std::move(kwargs);
  return record;
}

dump::CallRecord with_backward(dump::CallRecord record, dump::List arriving) {
  record.backward = dump::BackwardRecord{std::move(arriving), {}};
  return record;
}

const at::Tensor& bench(const LeafPair& pair) { return *pair.bench.as<at::Tensor>(); }
const at::Tensor& device(const LeafPair& pair) { return *pair.device.as<at::Tensor>(); }

CallOutcome run(const dump::CallRecord& record) {
  OrSkip<CallOutcome> outcome = execute_call(record, {});
  if (!outcome) throw std::runtime_error(outcome.error().text);
  return *std::move(outcome);
}

Skip skipped(const dump::CallRecord& record) {
  const OrSkip<CallOutcome> outcome = execute_call(record, {});
  return outcome ? Skip{} : outcome.error();
}

TEST(Precision, RaisesOneStep) {  // spec 4.5
  const auto of = [](std::vector<at::ScalarType> types, std::string_view name = "add",
                     bool hf32 = false) {
    PyCall py;
    for (const at::ScalarType type : types) py.args.push_back({at::ones({1}, type)});
    return precision_of(py, {}, {"Torch", name, "0"}, hf32);
  };
  EXPECT_EQ(of({at::kHalf}).raised(at::kHalf), at::kFloat);
  EXPECT_EQ(of({at::kFloat}).raised(at::kFloat), at::kDouble);
  EXPECT_EQ(of({at::kFloat}).raised(at::kComplexFloat), at::kComplexDouble);
  const Precision mixed = of({at::kFloat, at::kBFloat16, at::kHalf});
  EXPECT_EQ(mixed.raised(at::kFloat), at::kFloat);
  EXPECT_EQ(mixed.raised(at::kBFloat16), at::kFloat);
  EXPECT_EQ(mixed.autocast, at::kBFloat16);
  EXPECT_EQ(of({at::kFloat}, "type_as").raised(at::kFloat), at::kFloat);
  EXPECT_EQ(of({at::kFloat}, "conv2d").raised(at::kFloat), at::kDouble);
  EXPECT_EQ(of({at::kFloat}, "conv2d", /*hf32=*/true).raised(at::kFloat), at::kFloat);
  EXPECT_EQ(of({at::kLong}).raised(at::kLong), at::kLong);
  EXPECT_FALSE(of({at::kLong}).autocast);
}

TEST(Precision, TheRecordedOutputTellsOfAutocast) {  // spec 4.6
  dump::CallRecord record;
  record.forward.output = {{tensor({1}, false, DType::kBFloat16)}};
  const PyCall py{{{at::ones({1})}}};
  const Precision linear = precision_of(py, record, {"Functional", "linear", "0"});
  EXPECT_EQ(linear.autocast, at::kBFloat16);
  EXPECT_TRUE(linear.round_inputs);
  EXPECT_FALSE(precision_of(py, record, {"Torch", "add", "0"}).round_inputs);
  record.forward.output = {{tensor({1})}};
  EXPECT_FALSE(precision_of(py, record, {"Functional", "linear", "0"}).autocast);
}

TEST(ExecuteCall, RunsBothSides) {
  const CallOutcome outcome = run(call("Torch.mul.0", {{tensor({3})}, {tensor({3})}}));
  ASSERT_EQ(outcome.forward.size(), 1U);
  EXPECT_EQ(outcome.forward[0].path, "0");
  EXPECT_EQ(bench(outcome.forward[0]).scalar_type(), at::kDouble);
  EXPECT_EQ(device(outcome.forward[0]).scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(bench(outcome.forward[0]).to(at::kFloat), device(outcome.forward[0])));
}

TEST(ExecuteCall, RoundsAsAutocastDoesBeforeItRaises) {
  dump::CallRecord record = call("Functional.linear.0", {{tensor({2, 8})}, {tensor({4, 8})}});
  record.forward.output = {{tensor({2, 4}, false, DType::kBFloat16)}};
  const CallOutcome outcome = run(record);
  EXPECT_EQ(device(outcome.forward[0]).scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(bench(outcome.forward[0]).to(at::kBFloat16), device(outcome.forward[0])));
}

TEST(ExecuteCall, GradientsOfPositionalAndKeywordTensors) {
  const CallOutcome outcome =
      run(with_backward(call("Functional.linear.0", {{tensor({2, 3}, true)}, {tensor({4, 3})}},
                             {{"bias", {tensor({4}, true)}}}),
                        {{tensor({2, 4})}}));
  EXPECT_FALSE(outcome.backward_skip);
  ASSERT_EQ(outcome.backward.size(), 3U);
  EXPECT_EQ(bench(outcome.backward[0]).sizes(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(outcome.backward[1].bench.is_none());  // the weight does not require grad
  EXPECT_TRUE(outcome.backward[2].of_keyword);
  EXPECT_TRUE(at::allclose(bench(outcome.backward[2]).to(at::kFloat), device(outcome.backward[2])));
}

TEST(ExecuteCall, EveryOutputGradientCounts) {
  const auto gradient = [](bool both) {
    dump::List arriving{{tensor({2, 2})}, {dump::None{}}};
    if (both) arriving[1] = {tensor({2, 2})};
    return run(with_backward(
        call("Torch.chunk.0", {{tensor({2, 4}, true)}, {std::int64_t{2}}, {std::int64_t{1}}}),
        arriving));
  };
  EXPECT_EQ(bench(gradient(false).backward[0]).slice(1, 2).count_nonzero().item<std::int64_t>(), 0);
  EXPECT_EQ(bench(gradient(true).backward[0]).count_nonzero().item<std::int64_t>(), 8);
}

TEST(ExecuteCall, InPlaceOperatorsAreDifferentiated) {
  const CallOutcome outcome =
      run(with_backward(call("Tensor.mul_.0", {{tensor({3}, true)}, {3.0}}), {{tensor({3})}}));
  ASSERT_FALSE(outcome.backward_skip) << outcome.backward_skip->text;
  const at::Tensor arriving = *outcome.arriving[0].as<at::Tensor>();
  EXPECT_TRUE(at::allclose(device(outcome.backward[0]), arriving * 3));
}

TEST(ExecuteCall, OutEndsBackward) {  // spec 4.8, T1
  const CallOutcome outcome = run(
      with_backward(call("Torch.add.0", {{tensor({3})}, {tensor({3})}}, {{"out", {tensor({3})}}}),
                    {{tensor({3})}}));
  EXPECT_EQ(outcome.forward.size(), 1U);
  ASSERT_TRUE(outcome.backward_skip);
  EXPECT_EQ(outcome.backward_skip->reason, SkipReason::kOutArgument);
}

TEST(ExecuteCall, ForwardSurvivesAFailingBackward) {
  const CallOutcome outcome =
      run(with_backward(call("Torch.mul.0", {{tensor({3}, true)}, {2.0}}), {{tensor({7})}}));
  EXPECT_EQ(outcome.forward.size(), 1U);
  ASSERT_TRUE(outcome.backward_skip);
  EXPECT_EQ(outcome.backward_skip->reason, SkipReason::kBenchFailed);
}

TEST(ExecuteCall, SaysWhyItSkips) {
  EXPECT_EQ(skipped(call("Distributed.send.0", {})).reason, SkipReason::kNotSupported);
  EXPECT_EQ(skipped(call("a.b.c.d.e", {})).text, "API a.b.c.d.e not support for acc_check. SKIP.");
  EXPECT_EQ(skipped(call("Torch.no_such.0", {})).reason, SkipReason::kUnknownApi);
  EXPECT_EQ(skipped(call("NPU.npu_no_such.0", {})).text, "There is not bench function npu_no_such");
  EXPECT_EQ(skipped(call("Torch.add.0", {{std::string("x")}})).reason, SkipReason::kBind);
  const Skip failed = skipped(call("Torch.mm.0", {{tensor({2, 3})}, {tensor({2, 3})}}));
  EXPECT_EQ(failed.reason, SkipReason::kBenchFailed);
  EXPECT_THAT(failed.text, HasSubstr("cannot be multiplied"));
  EXPECT_THAT(failed.text, testing::Not(HasSubstr("frame #")));
}

TEST(ExecuteCall, RandomOperatorsAreSeeded) {
  const dump::CallRecord record = call("Functional.dropout.0", {{tensor({64})}, {0.5}});
  EXPECT_TRUE(at::equal(device(run(record).forward[0]), device(run(record).forward[0])));
}

TEST(PairLeaves, WalksListsAndNamesPlaces) {
  const PyValue one{std::int64_t{1}};
  const auto pairs = pair_leaves({PyList{one, {PyList{one, one}}}}, {PyList{one, {PyList{one}}}});
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].path, "0");
  EXPECT_EQ(pairs[1].path, "1.0");
  EXPECT_EQ(pairs[2].path, "1.1");
  EXPECT_EQ(pairs[2].state, LeafPair::State::kDeviceMissing);
  EXPECT_EQ(pair_leaves(one, one)[0].path, "0");
}

std::vector<Input> watched(std::size_t count) {
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    at::Tensor tensor = at::ones({1});
    inputs.push_back({false, false, libtorch::watch(tensor)});
  }
  return inputs;
}

std::vector<at::Tensor> no_node() { return {}; }

TEST(RecordedGradients, ArgumentOrderFirst) {
  const at::Tensor a = at::rand({2, 2});
  const at::Tensor b = at::rand({2, 2});
  const auto found = match_gradients(watched(2), {a, b}, {{a}, {b}}, no_node);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->note.empty());
  EXPECT_TRUE(found->values[0].as<at::Tensor>()->equal(a));
}

TEST(RecordedGradients, NodeOrderAndTransposes) {  // decision 18
  const at::Tensor input = at::rand({2, 3});
  const at::Tensor weight = at::rand({4, 3});
  const at::Tensor bias = at::rand({4});
  const auto found =
      match_gradients(watched(3), {input, weight, bias}, {{bias}, {input}, {weight.t()}}, no_node);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->values[0].as<at::Tensor>()->equal(input));
  EXPECT_TRUE(found->values[1].as<at::Tensor>()->equal(weight));
  EXPECT_TRUE(found->values[2].as<at::Tensor>()->equal(bias));
  EXPECT_THAT(found->note, HasSubstr("transposed"));
}

TEST(RecordedGradients, TheLastNodeWhereTheArgumentsDisagree) {
  const at::Tensor bench = at::rand({2, 3});
  const at::Tensor node = at::rand({2, 3}) + 3;
  const auto found = match_gradients(watched(1), {bench}, {{node}, {dump::None{}}},
                                     [&] { return std::vector{node, at::Tensor()}; });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node.size(), 2U);
  EXPECT_TRUE(found->values[0].as<at::Tensor>()->equal(node));
  EXPECT_THAT(found->note, HasSubstr("last autograd node"));
}

TEST(RecordedGradients, OneStepBackIsThatOfTheNode) {
  at::Tensor input = at::rand({2, 5});
  const libtorch::Edge edge = libtorch::watch(input);
  const at::Tensor target = at::tensor({1, 3}, at::kLong);
  const at::Tensor loss = at::cross_entropy_loss(input, target);
  const at::Tensor weight = at::ones({});
  const auto whole = libtorch::gradients({loss}, {weight}, {edge}, /*keep_graph=*/true);
  const auto last = libtorch::node_gradients({loss}, {weight});
  EXPECT_TRUE(at::allclose(whole[0], (at::softmax(input, 1) - at::one_hot(target, 5)) / 2));
  EXPECT_TRUE(at::allclose(last[0], -at::one_hot(target, 5).to(at::kFloat) / 2));
}

TEST(ExecuteCall, ACallWithoutRecordedOutputsIsSkipped) {
  ExecuteOptions recorded;
  recorded.recorded = true;
  const auto found = execute_call(call("Torch.exp.0", {{tensor({2})}}), recorded);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().reason, SkipReason::kNothingRecorded);
  EXPECT_THAT(found.error().text, HasSubstr("no outputs of this call"));
}

TEST(RecordedGradients, SkipsOnlyWhereNoShapeFits) {
  const auto found = match_gradients(watched(1), {at::rand({2, 3})}, {{at::rand({5})}}, no_node);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().reason, SkipReason::kNothingRecorded);
  EXPECT_TRUE(match_gradients(watched(1), {at::rand({3})}, {{at::rand({3}) + 100}}, no_node));
}

}  // namespace
}  // namespace msprobe::execute
