// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/npu_operators.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "execute/api.h"
#include "execute/plug_in_call.h"

namespace msprobe::execute::npu {
namespace {

at::Tensor ones(at::IntArrayRef shape) { return at::ones(shape, at::kDouble); }

PyValue run(std::string_view type, std::string_view name, const PyCall& call) {
  const Api* api = find_api(type, name);
  if (api == nullptr) throw std::invalid_argument("no such API");
  return (*api)(call);
}

at::Tensor tensor(const PyValue& value) { return *value.as<at::Tensor>(); }
at::Tensor tensor(const PyValue& value, std::size_t index) {
  return tensor(value.as<PyList>()->at(index));
}

PyValue integer(std::int64_t value) { return {value}; }
PyValue integers(const std::vector<std::int64_t>& values) {
  PyList items;
  for (const std::int64_t value : values) items.push_back({value});
  return {items};
}
const PyValue kNone = {dump::None{}};

// As the documentation lists them.
constexpr std::string_view kDocumented[] = {"npu_apply_adam_w",
                                            "npu_confusion_transpose",
                                            "fast_gelu",
                                            "npu_layer_norm_eval",
                                            "npu_linear",
                                            "npu_fusion_attention",
                                            "npu_rms_norm",
                                            "npu_rotary_mul",
                                            "npu_scaled_masked_softmax",
                                            "npu_swiglu",
                                            "npu_apply_adam",
                                            "npu_group_norm_silu",
                                            "npu_mish",
                                            "npu_moe_gating_top_k_softmax",
                                            "npu_sort_v2"};

TEST(NpuTable, HasEveryDocumentedOperator) {
  for (const std::string_view name : kDocumented) {
    EXPECT_NE(find_api("NPU", name), nullptr) << name;
  }
  EXPECT_EQ(find_api("NPU", "npu_nonsense"), nullptr);
}

TEST(NpuTable, NamesAreUniqueAndSignaturesParse) {
  std::set<std::string_view> names;
  for (const ApiRow& row : npu_operators()) {
    EXPECT_TRUE(names.insert(row.api).second) << row.api;
    EXPECT_FALSE(Signature(row.signature).parameters().empty()) << row.api;
  }
}

TEST(NpuTable, BothNamesOfFastGeluRun) {
  const PyCall call{.args = {{ones({2})}}, .kwargs = {}};
  const at::Tensor wanted = ones({2}) * at::sigmoid(1.702 * ones({2}));
  EXPECT_TRUE(at::allclose(tensor(run("NPU", "fast_gelu", call)), wanted));
  EXPECT_TRUE(at::allclose(tensor(run("NPU", "npu_fast_gelu", call)), wanted));
}

TEST(NpuTable, TakesTheNamesOfOperatorAndOfPublicTool) {
  const at::Tensor x = ones({2, 4});
  for (const std::string name : {"self", "x", "input"}) {
    const PyCall call{.args = {}, .kwargs = {{name, {x}}, {"gamma", {ones({4})}}}};
    EXPECT_EQ(run("NPU", "npu_rms_norm", call).as<PyList>()->size(), 2U) << name;
  }
  const PyCall call{.args = {{x}}, .kwargs = {{"finished_optional", kNone}, {"k", integer(2)}}};
  EXPECT_EQ(tensor(run("NPU", "npu_moe_gating_top_k_softmax", call), 0).size(-1), 2);
}

TEST(NpuTable, RmsNormTakesTheOperatorsEpsilon) {
  const PyCall call{.args = {{at::zeros({1, 4}, at::kDouble)}, {ones({4})}}, .kwargs = {}};
  EXPECT_NEAR(tensor(run("NPU", "npu_rms_norm", call), 1).item<double>(), 1000, 1e-3);
}

PyCall adam_call(const PyValue& power, PyList out) {
  return {.args = {power, {0.9}, {0.1}, {0.9}, {0.99}, {1e-8}, {ones({3})}, kNone, {false}},
          .kwargs = {{"out", {std::move(out)}}}};
}

TEST(NpuTable, ApplyAdamTakesNumbersAndTensors) {
  const PyList out = {{ones({3})}, {ones({3})}, {ones({3})}};
  const PyValue plain = run("NPU", "npu_apply_adam", adam_call({0.5}, out));
  ASSERT_EQ(plain.as<PyList>()->size(), 3U);
  for (const at::Tensor& power : {at::full({}, 0.5), at::full({1}, 0.5)}) {
    const PyValue other = run("NPU", "npu_apply_adam", adam_call({power}, out));
    EXPECT_TRUE(tensor(plain, 0).equal(tensor(other, 0)));
  }
  EXPECT_THROW(run("NPU", "npu_apply_adam", adam_call({0.5}, {{ones({3})}})), BindError);
  EXPECT_THROW(run("NPU", "npu_apply_adam", {.args = adam_call({0.5}, out).args, .kwargs = {}}),
               BindError);
}

TEST(NpuTable, ApplyAdamWRuns) {
  const PyCall call{.args = {{0.9},
                             {0.99},
                             {0.1},
                             {0.01},
                             {0.9},
                             {0.99},
                             {1e-8},
                             {ones({3})},
                             kNone,
                             {false},
                             {false}},
                    .kwargs = {{"out", {PyList{{ones({3})}, {ones({3})}, {ones({3})}}}}}};
  EXPECT_EQ(run("NPU", "npu_apply_adam_w", call).as<PyList>()->size(), 3U);
}

PyCall attention_call() {
  const at::Tensor x = at::arange(24, at::kDouble).reshape({1, 2, 3, 4}) / 24;
  return {.args = {{x}, {x}, {x}, integer(2), {std::string("BNSD")}}, .kwargs = {}};
}

TEST(NpuTable, AttentionTakesFurtherPositionalArguments) {
  PyCall by_name = attention_call();
  by_name.kwargs = {{"scale", {0.5}}, {"sparse_mode", integer(2)}};
  PyCall by_place = attention_call();
  for (const PyValue& value : PyList{kNone,
                                     kNone,
                                     kNone,
                                     {0.5},
                                     {1.0},
                                     integer(9),
                                     integer(9),
                                     integer(0),
                                     kNone,
                                     kNone,
                                     kNone,
                                     integer(2)}) {
    by_place.args.push_back(value);
  }
  const PyValue found = run("NPU", "npu_fusion_attention", by_place);
  ASSERT_EQ(found.as<PyList>()->size(), 7U);
  EXPECT_TRUE(tensor(found, 0).equal(tensor(run("NPU", "npu_fusion_attention", by_name), 0)));
  EXPECT_FALSE(
      tensor(found, 0).equal(tensor(run("NPU", "npu_fusion_attention", attention_call()), 0)));
}

TEST(NpuTable, AttentionGradGivesNoneWithoutPse) {
  PyCall call = attention_call();
  call.args.insert(call.args.begin() + 3, {ones({1, 2, 3, 4})});
  call.kwargs = {{"scale_value", {0.5}}};
  const PyValue found = run("Aten", "npu_fusion_attention_grad", call);
  ASSERT_EQ(found.as<PyList>()->size(), 5U);
  EXPECT_EQ(tensor(found, 2).sizes(), (at::IntArrayRef{1, 2, 3, 4}));
  EXPECT_TRUE(found.as<PyList>()->at(3).is_none());
  EXPECT_TRUE(found.as<PyList>()->at(4).is_none());
}

TEST(NpuTable, AttentionGivesSevenResults) {
  const PyValue found = run("NPU", "npu_fusion_attention", attention_call());
  const PyList& results = *found.as<PyList>();
  ASSERT_EQ(results.size(), 7U);
  EXPECT_EQ(tensor(results[1]).sizes(), (at::IntArrayRef{1, 2, 3, 8}));
  EXPECT_EQ(tensor(results[3]).numel(), 0);
  EXPECT_EQ(*results[6].as<std::int64_t>(), 2 * 3 * 3);  // scores
  const at::Tensor x = ones({5, 2, 4});
  const PyValue varlen =
      run("NPU", "npu_fusion_attention",
          {{{x}, {x}, {x}, integer(2), {std::string("TND")}},
           {{"actual_seq_qlen", integers({2, 5})}, {"actual_seq_kvlen", integers({1, 5})}}});
  EXPECT_EQ(*varlen.as<PyList>()->at(6).as<std::int64_t>(), 2 * (2 * 1 + 3 * 4));
}

TEST(NpuTable, OutIsWrittenAndReturned) {
  const PyList out = {{ones({3})}, {ones({3})}, {ones({3})}};
  const PyValue found = run("NPU", "npu_apply_adam", adam_call({0.5}, out));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(tensor(found, i).is_same(tensor(out[i])));
  EXPECT_FALSE(tensor(out[0]).equal(ones({3})));
  PyCall by_place = adam_call({0.5}, out);
  by_place.args.push_back({out});
  by_place.kwargs.clear();
  EXPECT_THROW(run("NPU", "npu_apply_adam", by_place), BindError);

  const at::Tensor x = at::tensor({3.0, 1.0, 2.0});
  at::Tensor sorted = at::empty({0}, at::kDouble);
  const PyValue same = run("NPU", "npu_sort_v2", {{{x}}, {{"out", {sorted}}}});
  EXPECT_TRUE(tensor(same).is_same(sorted));
  EXPECT_TRUE(sorted.equal(at::tensor({1.0, 2.0, 3.0})));
  EXPECT_THROW(run("NPU", "npu_sort_v2", {{{x}, integer(0), {false}, {sorted}}, {}}), BindError);
}

// Calls of one version of the plug-in for another.
TEST(NpuTable, ACallOfAnotherVersionIsFitted) {
  const Signature signature("input|self|x, r1, r2, rotary_mode='half', rotate=None");
  OverloadSet set{"npu::npu_rotary_mul", OverloadStyle::kOperator, false, {}};
  set.overloads.emplace_back(c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor"));
  for (const char* name : {"input", "r1", "r2", "rotary_mode"}) {
    set.overloads[0].parameters.emplace_back().name = name;
  }
  set.overloads[0].positional = 4;
  const PyValue x = {ones({2})};
  const PyValue half = {std::string("half")};
  const PyCall older = plug_in_call(set, signature, {{}, {{"self", x}, {"rotate", kNone}}});
  ASSERT_EQ(older.kwargs.size(), 1U);
  EXPECT_EQ(older.kwargs[0].first, "input");
  EXPECT_EQ(plug_in_call(set, signature, {{x, x, x, half, kNone}, {}}).args.size(), 4U);
  EXPECT_EQ(plug_in_call(set, signature, {{x, x, x, half, x}, {}}).args.size(), 5U);
  const PyCall needed = plug_in_call(set, signature, {{x, x, x}, {{"rotate", x}, {"other", x}}});
  ASSERT_EQ(needed.kwargs.size(), 2U);  // refused by the operator, which names them
  EXPECT_EQ(needed.kwargs[0].first, "rotate");
}

// The keywords of today's schema, at their defaults and, where they compute, given.
TEST(NpuTable, TodaysKeywordsAreTaken) {
  PyCall call = attention_call();
  const PyValue plain = run("NPU", "npu_fusion_attention", call);
  call.kwargs = {{"sink", kNone},
                 {"dropout_mask", kNone},
                 {"seed", integer(0)},
                 {"offset", integer(0)},
                 {"softmax_layout", {std::string()}}};
  EXPECT_TRUE(tensor(run("NPU", "npu_fusion_attention", call), 0).equal(tensor(plain, 0)));
  call.kwargs = {{"sink", {ones({2})}}};
  EXPECT_FALSE(tensor(run("NPU", "npu_fusion_attention", call), 0).equal(tensor(plain, 0)));
  call.args.insert(call.args.begin() + 3, {ones({1, 2, 3, 4})});
  const PyValue gradients = run("Aten", "npu_fusion_attention_grad", call);
  ASSERT_EQ(gradients.as<PyList>()->size(), 5U);
  EXPECT_EQ(tensor(gradients, 4).sizes(), (at::IntArrayRef{2}));
  const PyValue x = {ones({1, 1, 2, 4})};
  EXPECT_EQ(tensor(run("NPU", "npu_rotary_mul", {{x, x, x}, {{"rotate", kNone}}})).sizes(),
            (at::IntArrayRef{1, 1, 2, 4}));
  EXPECT_EQ(tensor(run("NPU", "npu_rotary_mul", {{x, x, x}, {{"rotate", {ones({4, 4})}}}})).sizes(),
            (at::IntArrayRef{1, 1, 2, 4}));
}

// Older versions record three gradients: one fewer than None for pse.
TEST(NpuTable, GradientsThatWereNotRecordedAreDropped) {
  const auto sizes = [](PyList bench, std::size_t recorded) {
    PyValue ours{std::move(bench)};
    drop_missing_gradients("Aten.npu_fusion_attention_grad", ours, {PyList(recorded, kNone)});
    return ours.as<PyList>()->size();
  };
  const PyValue one = {ones({1})};
  EXPECT_EQ(sizes({one, one, one, kNone, kNone}, 3), 3U);
  EXPECT_EQ(sizes({one, one, one, kNone, kNone}, 4), 4U);
  EXPECT_EQ(sizes({one, one, one, kNone, kNone}, 5), 5U);
  EXPECT_EQ(sizes({one, one, one, kNone}, 3), 3U);
  EXPECT_EQ(sizes({one, one, one, kNone}, 4), 4U);
  EXPECT_EQ(sizes({one, one, one, kNone}, 5), 4U);
  EXPECT_EQ(sizes({one, one, one, one}, 3), 4U);  // a gradient that is missing is an error
}

// Autograd passes the negation of the forward's transpose_first: true is "permute by the inverse,
// then reshape".
TEST(NpuTable, TheBackwardOfConfusionTransposeTakesTheNegatedFlag) {
  const at::Tensor x = at::arange(24, at::kDouble).reshape({2, 3, 4});
  for (const bool first : {true, false}) {
    const std::vector<std::int64_t> shape =
        first ? std::vector<std::int64_t>{8, 3} : std::vector<std::int64_t>{3, 2, 4};
    const PyValue forward = run("NPU", "npu_confusion_transpose",
                                {{{x}, integers({2, 0, 1}), integers(shape), {first}}, {}});
    // Sending the outputs themselves back gives the input: the operator only moves elements.
    const PyValue back = run("Aten", "npu_confusion_transpose_backward",
                             {{forward, integers({2, 0, 1}), integers({2, 3, 4}), {!first}}, {}});
    EXPECT_TRUE(tensor(back).equal(x)) << first;
  }
}

TEST(NpuTable, DropoutIsTakenOutAndSaid) {
  PyCall call = attention_call();
  EXPECT_EQ(without_dropout("NPU.npu_fusion_attention", call), "");
  call.kwargs = {{"keep_prob", {0.9}}};
  EXPECT_THAT(without_dropout("NPU.npu_fusion_attention", call),
              testing::HasSubstr("keep_prob 0.9 was replaced by 1"));
  EXPECT_EQ(*call.kwargs[0].second.as<double>(), 1.0);
  EXPECT_EQ(without_dropout("NPU.npu_fusion_attention", call), "");

  PyCall by_place = attention_call();
  for (const PyValue& value : PyList{kNone, kNone, kNone, {0.5}, {0.8}}) {
    by_place.args.push_back(value);
  }
  EXPECT_NE(without_dropout("NPU.npu_fusion_attention", by_place), "");
  EXPECT_EQ(*by_place.args[9].as<double>(), 1.0);
  EXPECT_EQ(without_dropout("NPU.npu_swiglu", call), "");
}

TEST(NpuTable, MatmulBackwardSelectsByItsMask) {
  const auto call = [](PyList mask) {
    return PyCall{.args = {{ones({2, 4})}, {ones({2, 3})}, {ones({3, 4})}, {std::move(mask)}},
                  .kwargs = {}};
  };
  const PyValue second = run("Aten", "matmul_backward", call({{false}, {true}}));
  EXPECT_TRUE(second.as<PyList>()->at(0).is_none());
  EXPECT_EQ(tensor(second, 1).sizes(), (at::IntArrayRef{3, 4}));
  try {
    run("Aten", "matmul_backward", call({{true}}));
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_STREQ(error.what_without_backtrace(), "Mask size at least 2");
  }
}

// Every other row once, so that no adapter asks for a name its signature lacks.
TEST(NpuTable, EveryOtherRowRuns) {
  const PyValue x = {ones({2, 3, 4})};
  const auto shape = [](const PyValue& value) { return tensor(value).sizes().vec(); };
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(shape(run("NPU", "npu_confusion_transpose",
                      {{x, integers({2, 0, 1}), integers({8, 3}), {true}}, {}})),
            (Shape{8, 3}));
  EXPECT_EQ(shape(run("Aten", "npu_confusion_transpose_backward",
                      {{{ones({8, 3})}, integers({2, 0, 1}), integers({2, 3, 4}), {false}}, {}})),
            (Shape{2, 3, 4}));
  EXPECT_EQ(shape(run("Aten", "npu_fast_gelu_backward", {{x, x}, {}})), (Shape{2, 3, 4}));
  EXPECT_EQ(shape(run("NPU", "npu_layer_norm_eval", {{x, integer(4)}, {}})), (Shape{2, 3, 4}));
  EXPECT_EQ(shape(run("NPU", "npu_layer_norm_eval", {{x, integers({3, 4})}, {}})),
            (Shape{2, 3, 4}));
  EXPECT_EQ(shape(run("NPU", "npu_linear", {{x, {ones({5, 4})}}, {}})), (Shape{2, 3, 5}));
  EXPECT_EQ(
      tensor(run("Aten", "npu_linear_backward", {{{ones({2, 3, 5})}, x, {ones({5, 4})}}, {}}), 1)
          .sizes(),
      (Shape{5, 4}));
  EXPECT_EQ(shape(run("NPU", "npu_mish", {{x}, {}})), (Shape{2, 3, 4}));
  EXPECT_EQ(
      tensor(run("Aten", "npu_rms_norm_backward", {{x, x, {ones({4})}, {ones({2, 3, 1})}}, {}}), 1)
          .sizes(),
      (Shape{4}));
  EXPECT_EQ(shape(run("NPU", "npu_rotary_mul", {{x, x, x}, {}})), (Shape{2, 3, 4}));
  EXPECT_EQ(run("Aten", "npu_rotary_mul_backward", {{x, x, x, x}, {}}).as<PyList>()->size(), 3U);
  EXPECT_EQ(shape(run("NPU", "npu_scaled_masked_softmax", {{x, kNone}, {}})), (Shape{2, 3, 4}));
  EXPECT_EQ(
      shape(run("Aten", "npu_scaled_masked_softmax_backward", {{x, x, kNone, {1.0}, {false}}, {}})),
      (Shape{2, 3, 4}));
  EXPECT_EQ(shape(run("NPU", "npu_sort_v2", {{x}, {{"descending", {true}}}})), (Shape{2, 3, 4}));
  EXPECT_EQ(shape(run("NPU", "npu_swiglu", {{x}, {}})), (Shape{2, 3, 2}));
  EXPECT_EQ(shape(run("Aten", "npu_swiglu_backward", {{{ones({2, 3, 2})}, x}, {}})),
            (Shape{2, 3, 4}));
  EXPECT_EQ(
      run("NPU", "npu_group_norm_silu", {{x, kNone, kNone, integer(3)}, {}}).as<PyList>()->size(),
      3U);
}

}  // namespace
}  // namespace msprobe::execute::npu
