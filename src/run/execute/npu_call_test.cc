// SPDX-License-Identifier: Apache-2.0
// Whole calls of the fused NPU operators: a record in, both sides and their gradients out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include "execute/api.h"
#include "execute/outcome_for_test.h"
#include "libtorch/cpu_types_for_test.h"

namespace msprobe::execute {
namespace {

using dump::Statistic;
using dump::TensorRecord;
using testing::HasSubstr;

TensorRecord npu_tensor(Shape shape, DType dtype = DType::kFloat32, bool grad = true) {
  TensorRecord record;
  record.dtype = dtype;
  record.dtype_text = text(dtype);
  record.shape = std::move(shape);
  record.min = {Statistic::Kind::kReal, 0, dtype == DType::kBool ? 0.0 : -1.0};
  record.max = {Statistic::Kind::kReal, 0, 1};
  record.requires_grad = grad;
  return record;
}

dump::CallRecord npu_call(std::string name, dump::List args, dump::Dict kwargs = {},
                          dump::List arriving = {}) {
  dump::CallRecord record;
  record.full_name = std::move(name);
  record.forward.input_args = std::move(args);
  record.forward.input_kwargs = std::move(kwargs);
  if (!arriving.empty()) record.backward = dump::BackwardRecord{std::move(arriving), {}};
  return record;
}

void expect_close(const LeafPair& pair, double tolerance) {
  ASSERT_EQ(bench(pair).sizes(), device(pair).sizes());
  EXPECT_TRUE(at::allclose(bench(pair).to(at::kDouble), device(pair).to(at::kDouble), tolerance,
                           tolerance));
}

TEST(NpuCall, SwigluForwardAndBackward) {
  const CallOutcome outcome = run(npu_call("NPU.npu_swiglu.0", {{npu_tensor({4, 8})}},
                                           {{"dim", {std::int64_t{-1}}}}, {{npu_tensor({4, 4})}}));
  EXPECT_EQ(bench(outcome.forward[0]).scalar_type(), at::kDouble);
  EXPECT_EQ(device(outcome.forward[0]).scalar_type(), at::kFloat);
  expect_close(outcome.forward[0], 1e-6);
  ASSERT_EQ(outcome.backward.size(), 1U);
  expect_close(outcome.backward[0], 1e-6);
}

TEST(NpuCall, RmsNormHasTwoOutputsAndGradientsOfBothInputs) {
  const CallOutcome outcome =
      run(npu_call("NPU.npu_rms_norm.0", {{npu_tensor({4, 8})}, {npu_tensor({8})}, {1e-6}}, {},
                   {{npu_tensor({4, 8})}, {dump::None{}}}));
  ASSERT_EQ(outcome.forward.size(), 2U);
  ASSERT_FALSE(outcome.backward_skip) << outcome.backward_skip->text;
  ASSERT_EQ(outcome.backward.size(), 2U);
  for (const LeafPair& pair : outcome.backward) expect_close(pair, 1e-5);
}

TEST(NpuCall, RotaryMulBroadcasts) {
  const CallOutcome outcome = run(
      npu_call("NPU.npu_rotary_mul.0",
               {{npu_tensor({2, 3, 4, 8})}, {npu_tensor({1, 3, 1, 8})}, {npu_tensor({1, 3, 1, 8})}},
               {}, {{npu_tensor({2, 3, 4, 8})}}));
  ASSERT_EQ(outcome.backward.size(), 3U);
  EXPECT_EQ(bench(outcome.backward[1]).sizes(), (std::vector<std::int64_t>{1, 3, 1, 8}));
  for (const LeafPair& pair : outcome.backward) expect_close(pair, 1e-5);
}

TEST(NpuCall, ScaledMaskedSoftmaxInHalf) {
  const CallOutcome outcome =
      run(npu_call("NPU.npu_scaled_masked_softmax.0",
                   {{npu_tensor({1, 2, 4, 4}, DType::kFloat16)},
                    {npu_tensor({1, 2, 4, 4}, DType::kBool, false)}},
                   {{"scale", {0.5}}}, {{npu_tensor({1, 2, 4, 4}, DType::kFloat16)}}));
  EXPECT_EQ(bench(outcome.forward[0]).scalar_type(), at::kFloat);
  EXPECT_EQ(device(outcome.forward[0]).scalar_type(), at::kHalf);
  expect_close(outcome.forward[0], 1e-3);
  expect_close(outcome.backward[0], 2e-3);
}

TEST(NpuCall, ApplyAdamWritesItsOutArguments) {  // spec 4.8, T1
  dump::List out(3, {npu_tensor({3}, DType::kFloat32, false)});
  const CallOutcome outcome = run(npu_call(
      "NPU.npu_apply_adam.0",
      {{0.9}, {0.9}, {0.1}, {0.9}, {0.99}, {1.5}, {npu_tensor({3})}, {dump::None{}}, {false}},
      {{"out", {out}}}, {{npu_tensor({3})}}));
  EXPECT_EQ(outcome.forward.size(), 3U);
  EXPECT_EQ(outcome.backward_skip->reason, SkipReason::kOutArgument);
}

TEST(NpuCall, MoeGatingGivesValuesExpertsAndRows) {
  const CallOutcome outcome = run(npu_call("NPU.npu_moe_gating_top_k_softmax.0",
                                           {{npu_tensor({5, 8})}}, {{"k", {std::int64_t{2}}}}));
  ASSERT_EQ(outcome.forward.size(), 3U);
  EXPECT_EQ(bench(outcome.forward[2])[1][1].item<std::int64_t>(), 6);  // j * rows + i
}

dump::CallRecord attention(DType dtype, double keep_prob = 1) {
  const TensorRecord input = npu_tensor({2, 6, 8}, dtype);
  return npu_call("NPU.npu_fusion_attention.0",
                  {{input}, {input}, {input}, {std::int64_t{2}}, {std::string("BSH")}},
                  {{"scale", {0.5}}, {"keep_prob", {keep_prob}}}, {{input}});
}

TEST(NpuCall, TheBenchOfAnAttentionIsDoubleForHalfTypesToo) {  // spec 4.9.7
  for (const DType dtype : libtorch::cpu_floats()) {
    const CallOutcome outcome = run(attention(dtype));
    ASSERT_EQ(outcome.forward.size(), 1U);  // softmax statistics are not compared
    EXPECT_EQ(bench(outcome.forward[0]).scalar_type(), at::kDouble);
    expect_close(outcome.forward[0], 1e-2);
    ASSERT_EQ(outcome.backward.size(), 3U);
    for (const LeafPair& pair : outcome.backward) {
      EXPECT_EQ(bench(pair).scalar_type(), at::kDouble);
      expect_close(pair, 2e-2);
    }
    EXPECT_EQ(outcome.note, "");
  }
}

TEST(NpuCall, DropoutInsideAnAttentionIsTakenOutAndSaid) {
  const CallOutcome outcome = run(attention(DType::kFloat32, 0.9));
  EXPECT_THAT(outcome.note, HasSubstr("keep_prob 0.9 was replaced by 1"));
  expect_close(outcome.forward[0], 1e-5);
  ExecuteOptions recorded;
  recorded.recorded = true;
  const auto skipped = execute_call(attention(DType::kFloat32, 0.9), recorded);
  ASSERT_FALSE(skipped);
  EXPECT_EQ(skipped.error().reason, SkipReason::kNothingRecorded);
  EXPECT_THAT(skipped.error().text, HasSubstr("keep_prob"));
}

TEST(NpuCall, TheExplicitGradientEqualsTheAutomaticOne) {
  const CallOutcome automatic = run(attention(DType::kFloat32));
  const arguments::PyList& args = automatic.arguments.call.args;
  const Api* api = find_api("Aten", "npu_fusion_attention_grad");
  ASSERT_NE(api, nullptr);
  const PyValue explicitly =
      (*api)({.args = {args[0], args[1], args[2], automatic.arriving[0], args[3], args[4]},
              .kwargs = {{"scale_value", {0.5}}}});
  const auto& found = *explicitly.as<arguments::PyList>();
  for (std::size_t i = 0; i < 3; ++i) {
    const at::Tensor& gradient = *found[i].as<at::Tensor>();
    EXPECT_FALSE(gradient.requires_grad());
    EXPECT_TRUE(at::allclose(gradient, device(automatic.backward[i]), 1e-4, 1e-5));
  }
}

// Stands for a back end that brings the vendor's operator; told apart by a wrong result.
at::Tensor double_it(const at::Tensor& self) { return self * 2; }
TORCH_LIBRARY(npu, library) { library.def("npu_mish(Tensor self) -> Tensor"); }
TORCH_LIBRARY_IMPL(npu, CPU, library) { library.impl("npu_mish", &double_it); }

TEST(NpuCall, ADeviceThatHasTheOperatorRunsIt) {
  EXPECT_EQ(find_device_api("NPU", "npu_swiglu", at::kCPU), nullptr);
  EXPECT_EQ(find_device_api("Torch", "npu_mish", at::kCPU), nullptr);
  EXPECT_EQ(find_device_api("NPU", "npu_mish", at::kMeta), nullptr);
  const CallOutcome outcome = run(npu_call("NPU.npu_mish.0", {{npu_tensor({4})}}));
  const at::Tensor& input = *outcome.arguments.call.args[0].as<at::Tensor>();
  EXPECT_TRUE(device(outcome.forward[0]).equal(input * 2));
  EXPECT_FALSE(at::allclose(bench(outcome.forward[0]).to(at::kFloat), input * 2));
}

// Small integers stand for indices, counts and ends.
TensorRecord npu_numbers(Shape shape, double low, double high) {
  TensorRecord record = npu_tensor(std::move(shape), DType::kInt64, false);
  record.min = {Statistic::Kind::kInteger, static_cast<std::int64_t>(low), low};
  record.max = {Statistic::Kind::kInteger, static_cast<std::int64_t>(high), high};
  return record;
}

dump::List tensors_of(std::initializer_list<TensorRecord> tensors) {
  dump::List items;
  for (const TensorRecord& tensor : tensors) items.push_back({tensor});
  return items;
}

// A result that is not written is None on both sides.
void expect_both_close(const LeafPair& pair) {
  const bool is_tensor = pair.bench.as<at::Tensor>() != nullptr;
  ASSERT_EQ(is_tensor, pair.device.as<at::Tensor>() != nullptr) << pair.path;
  if (is_tensor) expect_close(pair, 1e-5);
}

TEST(NpuCall, OperatorsOfTrainingRunOnBothSides) {
  const dump::CallRecord calls[] = {
      npu_call("NPU.npu_gelu.0", {{npu_tensor({4, 8})}}, {{"approximate", {std::string("tanh")}}},
               {{npu_tensor({4, 8})}}),
      npu_call("NPU.npu_geglu.0", {{npu_tensor({4, 8})}}, {},
               {{npu_tensor({4, 4})}, {dump::None{}}}),
      npu_call("NPU.npu_clipped_swiglu.0", {{npu_tensor({4, 8})}}, {{"interleaved", {false}}}),
      npu_call("NPU.npu_add_rms_norm.0",
               {{npu_tensor({4, 8})}, {npu_tensor({4, 8})}, {npu_tensor({8})}}),
      npu_call(
          "NPU.npu_interleave_rope.0",
          {{npu_tensor({1, 2, 3, 8})}, {npu_tensor({1, 1, 3, 8})}, {npu_tensor({1, 1, 3, 8})}}),
      npu_call("NPU.npu_bmmV2.0",
               {{npu_tensor({2, 3, 4})}, {npu_tensor({2, 4, 5})}, {dump::List{}}}),
      npu_call(
          "NPU.npu_transpose_batchmatmul.0", {{npu_tensor({5, 2, 4})}, {npu_tensor({2, 4, 3})}},
          {{"perm_x1", {dump::List{{std::int64_t{1}}, {std::int64_t{0}}, {std::int64_t{2}}}}}}),
      npu_call("NPU.npu_attention_update.0",
               {{tensors_of({npu_tensor({6}), npu_tensor({6})})},
                {tensors_of({npu_tensor({6, 8}), npu_tensor({6, 8})})},
                {std::int64_t{1}}}),
      npu_call("NPU.npu_moe_token_permute.0", {{npu_tensor({6, 4})}, {npu_numbers({6, 2}, 0, 3)}},
               {}, {{npu_tensor({12, 4})}, {dump::None{}}}),
      npu_call("NPU.npu_moe_token_unpermute.0",
               {{npu_tensor({6, 4})}, {npu_numbers({6}, 0, 5)}, {npu_tensor({3, 2})}}, {},
               {{npu_tensor({3, 4})}}),
      npu_call("NPU.npu_moe_compute_expert_tokens.0",
               {{npu_numbers({6}, 0, 3)}, {std::int64_t{4}}}),
      npu_call("NPU.npu_grouped_matmul.0",
               {{tensors_of({npu_tensor({6, 4})})},
                {tensors_of({npu_tensor({4, 3}), npu_tensor({4, 3})})}},
               {{"group_list", {dump::List{{std::int64_t{2}}, {std::int64_t{5}}}}},
                {"split_item", {std::int64_t{2}}}}),
  };
  for (const dump::CallRecord& call : calls) {
    SCOPED_TRACE(call.full_name);
    const CallOutcome outcome = run(call);
    ASSERT_FALSE(outcome.forward.empty());
    for (const LeafPair& pair : outcome.forward) expect_both_close(pair);
    EXPECT_FALSE(outcome.backward_skip) << outcome.backward_skip->text;
    EXPECT_EQ(outcome.backward.empty(), !call.backward);
    for (const LeafPair& pair : outcome.backward) expect_both_close(pair);
  }
}

}  // namespace
}  // namespace msprobe::execute
