// SPDX-License-Identifier: Apache-2.0
#include "execute/execute_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "execute/outcome_for_test.h"
#include "execute/precision.h"
#include "execute/recorded_gradients.h"
#include "execute/side.h"
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

TEST(DeviceSide, KeepsStridesThatLeaveGaps) {
  const PyCall half{{{at::ones({2, 8}).narrow(1, 0, 4)}}};
  const CallSide side = device_side(half, at::kMeta, /*with_grad=*/false);
  const auto* moved = side.call.args[0].as<at::Tensor>();
  ASSERT_NE(moved, nullptr);
  EXPECT_TRUE(moved->is_meta());
  EXPECT_EQ(moved->strides(), (std::vector<std::int64_t>{8, 1}));
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

OrSkip<BenchGradients> no_other(Layout /*layout*/) {
  return skip(SkipReason::kBenchFailed, "the same in every layout");
}

// A node that hands these on, to no input of the call.
libtorch::LastNode inner_node(const std::vector<at::Tensor>& gradients) {
  libtorch::LastNode node{"InnerBackward0", {}, gradients};
  for (const Input& other : watched(gradients.size())) node.next.push_back(other.edge);
  return node;
}

TEST(RecordedGradients, OfANodeThatLeadsStraightToTheArguments) {
  const at::Tensor a = at::rand({2, 2});
  const at::Tensor b = at::rand({2, 2});
  const std::vector<Input> inputs = watched(2);
  const libtorch::LastNode last{"MulBackward0", {inputs[1].edge, inputs[0].edge}, {b, a}};
  const auto found = match_gradients(inputs, {{a, b}, last}, {{b * 2}, {a}}, no_other);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->values[0].as<at::Tensor>()->equal(a));
  EXPECT_TRUE(found->values[1].as<at::Tensor>()->equal(b * 2));  // wrong, and its place is known
  EXPECT_TRUE(found->node.empty());
  // Recorded in the order of the arguments.
  const auto ordered = match_gradients(inputs, {{a, b}, last}, {{a}, {b}}, no_other);
  ASSERT_TRUE(ordered);
  EXPECT_TRUE(ordered->values[0].as<at::Tensor>()->equal(a));
  EXPECT_TRUE(ordered->values[1].as<at::Tensor>()->equal(b));
}

TEST(RecordedGradients, NodeOrderAndTransposes) {  // decision 18
  const at::Tensor input = at::rand({2, 3});
  const at::Tensor weight = at::rand({4, 3});
  const at::Tensor bias = at::rand({4});
  const BenchGradients bench{{input, weight, bias}, inner_node({bias, input, weight.t()})};
  const auto found =
      match_gradients(watched(3), bench, {{bias}, {input}, {weight.t() + 9}}, no_other);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->values[0].as<at::Tensor>()->equal(input));
  EXPECT_TRUE(found->values[1].as<at::Tensor>()->equal(weight + 9));
  EXPECT_TRUE(found->values[2].as<at::Tensor>()->equal(bias));
  EXPECT_THAT(found->note, HasSubstr("transposed"));
}

TEST(RecordedGradients, PartOfAGradientStandsBesideTheNode) {
  const at::Tensor whole = at::rand({2, 3});
  const at::Tensor part = whole * 1.0001;  // as the last division of local_response_norm
  const BenchGradients bench{{whole}, inner_node({part, at::Tensor()})};
  const auto found = match_gradients(watched(1), bench, {{part}, {dump::None{}}}, no_other);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node.size(), 2U);
  EXPECT_EQ(found->place.name, "InnerBackward0");
  EXPECT_TRUE(found->values[0].as<at::Tensor>()->equal(part));
  EXPECT_THAT(found->note, HasSubstr("last autograd node"));
}

TEST(RecordedGradients, AnotherLayoutWhereTheNodeDependsOnIt) {
  const at::Tensor whole = at::rand({2, 3});
  const at::Tensor arriving = at::rand({2, 3});
  const BenchGradients bench{{whole}, inner_node({at::rand({6})})};
  const auto in_columns = [&](Layout layout) {
    return OrSkip<BenchGradients>(
        {{whole}, inner_node({layout == Layout::kColumns ? arriving : at::rand({6})})});
  };
  for (const at::Tensor& recorded : {arriving, arriving * 2}) {  // right, and wrong
    const auto found = match_gradients(watched(1), bench, {{recorded}}, in_columns);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->place.layout, Layout::kColumns);
    EXPECT_TRUE(found->node[0].equal(arriving));
  }
}

TEST(RecordedGradients, NothingIsKnownWhereLayoutsDifferAndNoneAgrees) {
  const BenchGradients bench{{at::rand({2, 3})}, inner_node({at::rand({2, 3})})};
  const std::vector<libtorch::Edge> watched_edge{watched(1)[0].edge};
  const auto other_node = [&](Layout /*layout*/) {
    return OrSkip<BenchGradients>(
        {{at::rand({2, 3})}, {"Other", watched_edge, {at::rand({2, 3})}}});
  };
  const auto found = match_gradients(watched(1), bench, {{at::rand({2, 3}) + 100}}, other_node);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().reason, SkipReason::kNothingRecorded);
  EXPECT_THAT(found.error().text, HasSubstr("it is unknown which one"));
}

TEST(RecordedGradients, InTheOrderOfTheArgumentsWhereTheyAgree) {
  const at::Tensor a = at::rand({2, 2});
  const BenchGradients bench{{a}, inner_node({at::rand({7})})};
  EXPECT_TRUE(match_gradients(watched(1), bench, {{a}}, no_other));
  EXPECT_FALSE(match_gradients(watched(1), bench, {{a + 100}}, no_other));
  EXPECT_FALSE(match_gradients(watched(1), bench, {{at::rand({5})}}, no_other));
}

// NPU.npu_rms_norm whose gamma needs no gradient: the benchmark ends in a product of two factors,
// whose node has gradients of the same shapes.
TEST(RecordedGradients, OfAFusedOperatorThatTheBenchmarkComposes) {
  const at::Tensor x = at::rand({2, 3});
  const at::Tensor bias = at::rand({3});
  std::vector<Input> inputs = watched(3);
  inputs[1].edge = {};
  BenchGradients bench{{x, at::Tensor(), bias}, inner_node({at::rand({2, 3}), at::Tensor()})};
  bench.whole_operator = {0, 1, 2};
  for (const at::Tensor& recorded : {x, x * 3}) {  // right, and wrong
    const auto found =
        match_gradients(inputs, bench, {{recorded}, {dump::None{}}, {bias}}, no_other);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->node.empty());
    EXPECT_TRUE(found->values[0].as<at::Tensor>()->equal(recorded));
    EXPECT_TRUE(found->values[1].is_none());
    EXPECT_TRUE(found->values[2].as<at::Tensor>()->equal(bias));
  }
  bench.whole_operator = {2, 0, 1};  // keywords in another order
  const auto found = match_gradients(inputs, bench, {{bias}, {x}, {dump::None{}}}, no_other);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->values[2].as<at::Tensor>()->equal(bias));
}

TEST(RecordedGradients, TheLastNodeGivesWhatTheEngineHandsOn) {
  at::Tensor input = at::rand({2, 5});
  at::Tensor factor = at::rand({5});
  const std::vector<libtorch::Edge> edges{libtorch::watch(input), libtorch::watch(factor)};
  libtorch::LastNode last;
  const at::Tensor product = at::log_softmax(input, 1) * factor;
  const auto whole = libtorch::gradients({product}, {at::ones({2, 5})}, edges, &last);
  EXPECT_EQ(last.name, "MulBackward0");
  EXPECT_TRUE(last.gradients[0].equal(factor.expand({2, 5})));
  EXPECT_TRUE(last.gradients[1].equal(whole[1]));  // summed over what was broadcast
  EXPECT_EQ(last.next[1].function, edges[1].function);
}

TEST(ExecuteCall, ACallWithoutRecordedOutputsIsSkipped) {
  ExecuteOptions recorded;
  recorded.recorded = true;
  const auto found = execute_call(call("Torch.exp.0", {{tensor({2})}}), recorded);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().reason, SkipReason::kNothingRecorded);
  EXPECT_THAT(found.error().text, HasSubstr("no outputs of this call"));
}

}  // namespace
}  // namespace msprobe::execute
