// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/attention.h"

#include <gmock/gmock.h>

#include "execute/npu/attention_core.h"
#include "execute/npu/attention_for_test.h"

namespace msprobe::execute::npu {
namespace {

// One way to mask: what the operator is given, and which scores that masks.
struct Masking {
  std::string name;
  std::int64_t mode = 0;
  std::int64_t pre = 2147483647;
  std::int64_t next = 2147483647;
  at::Tensor mask;
  Masked masked;
};

Masking given(const std::string& name, std::int64_t mode, const at::Tensor& mask) {
  const at::Tensor wide =
      mask.to(at::kDouble)
          .reshape({mask.dim() > 2 ? mask.size(0) : 1, mask.dim() > 2 ? mask.size(1) : 1,
                    mask.size(-2), mask.size(-1)});
  return {name, mode, 1, 1, mask, [wide](const Indices& i) { return element(wide, i) != 0; }};
}

std::vector<Masking> maskings(const Extent& e) {
  const auto triu = [](std::int64_t k) {
    return [k](const Indices& i) { return i[3] - i[2] >= k; };
  };
  const auto band = [](std::int64_t pre, std::int64_t next) {
    return [=](const Indices& i) { return i[3] - i[2] >= next + 1 || i[3] - i[2] <= -pre - 1; };
  };
  constexpr std::int64_t kAll = 2147483647;
  const std::int64_t corner = e.s2 - e.s1;
  const auto nothing = [](const Indices&) { return false; };
  std::vector<Masking> result = {
      {"none", 0, kAll, kAll, {}, nothing},
      // The vendor: "where no mask is given, nothing is masked", whatever mode and tokens say.
      {"none, tokens", 0, 2, 1, {}, nothing},
      {"none, mode 1", 1, 2, 1, {}, nothing},
      {"none, mode 2", 2, kAll, kAll, {}, nothing},
      {"none, mode 3", 3, kAll, kAll, {}, nothing},
      {"none, mode 4", 4, 1, 3, {}, nothing},
      {"none, mode 7", 7, kAll, kAll, {}, nothing},
      {"compressed, mode 2", 2, kAll, kAll, compressed_mask(), triu(1)},
      {"compressed, mode 3", 3, kAll, kAll, compressed_mask(), triu(e.s2 - e.s1 + 1)},
      // Counted from the lower right corner.
      {"compressed, mode 4", 4, 2, 0, compressed_mask().reshape({1, 1, 2048, 2048}),
       band(2 - corner, corner)},
      {"compressed, mode 4, band", 4, 1, 3, compressed_mask(), band(1 - corner, 3 + corner)},
      {"compressed, mode 4, negative next", 4, 4, -2, compressed_mask(),
       band(4 - corner, -2 + corner)},
  };
  const at::Tensor full = random({e.b, e.n1, e.s1, e.s2}, 31) > 0.2;
  for (const std::int64_t mode : {0, 1, 2, 3, 4, 5}) {
    result.push_back(given("BNSS", mode, full));
  }
  result.push_back(given("B1SS", 1, full.narrow(1, 0, 1).contiguous()));
  result.push_back(given("11SS", 0, full.narrow(0, 0, 1).narrow(1, 0, 1).contiguous()));
  result.push_back(given("SS", 0, full[0][0].contiguous()));
  result.push_back(given("SS, uint8", 0, full[0][0].to(at::kByte).contiguous()));
  result.push_back(given("everything", 1, at::ones({e.s1, e.s2}, at::kBool)));
  return result;
}

FusionAttention options_of(const std::string& layout, const Extent& e, const Masking& masking) {
  FusionAttention options;
  options.head_num = e.n1;
  options.input_layout = layout;
  options.atten_mask = masking.mask;
  options.scale = 0.6;
  options.pre_tockens = masking.pre;
  options.next_tockens = masking.next;
  options.sparse_mode = masking.mode;
  return options;
}

class EveryLayout : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Attention, EveryLayout, testing::Values("BSH", "SBH", "BSND", "BNSD"));

std::optional<at::Tensor> pse_of(const std::string& kind, const Extent& e) {
  if (kind == "none") return std::nullopt;
  return random({kind == "1NSS" ? 1 : e.b, e.n1, kind == "BN1S" ? 1 : e.s1, e.s2}, 4);
}

// Calls `check` for every number of key heads, kind of pse and way to mask.
using Check = std::function<void(const Extent&, const std::optional<at::Tensor>&, const Masking&)>;
void for_every_kind(const Check& check) {
  for (const std::int64_t key_heads : {4, 2, 1}) {
    Extent e;
    e.n2 = key_heads;
    const std::vector<Masking> ways = maskings(e);
    for (const std::string kind : {"none", "BNSS", "BN1S", "1NSS"}) {
      for (const Masking& masking : ways) {
        SCOPED_TRACE(testing::Message() << key_heads << " key heads, pse " << kind << ", mask "
                                        << masking.name << ", mode " << masking.mode);
        check(e, pse_of(kind, e), masking);
      }
    }
  }
}

TEST_P(EveryLayout, FollowsTheDefinition) {
  const std::string& layout = GetParam();
  for_every_kind(
      [&](const Extent& e, const std::optional<at::Tensor>& pse, const Masking& masking) {
        const Tensors in = tensors(e);
        FusionAttention options = options_of(layout, e, masking);
        if (pse) options.pse = *pse;
        const auto [y, max, sum] = npu_fusion_attention(
            arranged(in.q, layout), arranged(in.k, layout), arranged(in.v, layout), options);
        const Wanted wanted = definition(e, in.q, in.k, in.v, pse, masking.masked, options.scale);
        expect_near(y, arranged(wanted.y, layout), 1e-12);
        ASSERT_EQ(max.sizes(), (at::IntArrayRef{e.b, e.n1, e.s1, 8}));
        ASSERT_EQ(sum.sizes(), max.sizes());
        for (const std::int64_t copy : {0, 7}) {
          const at::Tensor column = max.narrow(-1, copy, 1);
          EXPECT_TRUE(at::isinf(column).equal(at::isinf(wanted.max)));
          expect_near(at::nan_to_num(column), at::nan_to_num(wanted.max), 1e-12);
          expect_near(sum.narrow(-1, copy, 1), wanted.sum, 1e-12);
        }
      });
}

TEST_P(EveryLayout, GradientsFollowTheFormula) {
  const std::string& layout = GetParam();
  for_every_kind([&](const Extent& e, const std::optional<at::Tensor>& pse,
                     const Masking& masking) {
    const Tensors in = tensors(e);
    const at::Tensor dy = random({e.b, e.n1, e.s1, e.dv}, 5);
    FusionAttention options = options_of(layout, e, masking);
    const auto wanted = wanted_gradients(e, in, pse, masking.masked, options.scale, dy);

    std::vector<at::Tensor> leaves = {arranged(in.q, layout), arranged(in.k, layout),
                                      arranged(in.v, layout)};
    if (pse) leaves.push_back(*pse);
    const auto found = autograd_of(
        [&](const std::vector<at::Tensor>& x) {
          FusionAttention with_pse = options;
          if (pse) with_pse.pse = x[3];
          return std::get<0>(npu_fusion_attention(x[0], x[1], x[2], with_pse));
        },
        leaves, arranged(dy, layout));
    for (std::size_t i = 0; i < 3; ++i) expect_near(found[i], arranged(wanted[i], layout), 1e-12);
    if (pse) expect_near(found[3], wanted[3], 1e-12);

    if (pse) options.pse = *pse;
    const auto [dq, dk, dv, dpse, dsink] =
        npu_fusion_attention_grad(leaves[0], leaves[1], leaves[2], arranged(dy, layout), options);
    EXPECT_TRUE(dq.equal(found[0]));
    EXPECT_TRUE(dk.equal(found[1]));
    EXPECT_TRUE(dv.equal(found[2]));
    EXPECT_EQ(dpse.defined(), pse.has_value());
    EXPECT_FALSE(dsink.defined());
    EXPECT_TRUE(!pse || dpse.equal(found[3]));
  });
}

TEST(Attention, AutogradFollowsDifferences) {
  const Extent e = {.b = 1, .n1 = 2, .n2 = 1, .s1 = 3, .s2 = 4, .d = 2, .dv = 2};
  const Tensors in = tensors(e);
  for (const Masking& masking : maskings(e)) {
    SCOPED_TRACE(testing::Message() << masking.name << ", mode " << masking.mode);
    FusionAttention options = options_of("BSH", e, masking);
    expect_autograd_follows_differences(
        [&](const std::vector<at::Tensor>& x) {
          options.pse = x[3];
          return std::get<0>(npu_fusion_attention(x[0], x[1], x[2], options));
        },
        {arranged(in.q, "BSH"), arranged(in.k, "BSH"), arranged(in.v, "BSH"),
         random({1, 2, 3, 4}, 6)});
  }
}

// More query rows than keys: in mode 3 the first rows see nothing.
TEST(Attention, FullyMaskedRowsGiveZeroAndNoNaN) {
  const Extent e = {.b = 1, .n1 = 2, .n2 = 2, .s1 = 6, .s2 = 4};
  const Tensors in = tensors(e);
  FusionAttention options;
  options.head_num = 2;
  options.input_layout = "BNSD";
  options.sparse_mode = 3;
  options.atten_mask = compressed_mask();
  const auto [y, max, sum] = npu_fusion_attention(in.q, in.k, in.v, options);
  EXPECT_TRUE(y.narrow(2, 0, 2).eq(0).all().item<bool>());
  EXPECT_TRUE(y.narrow(2, 2, 4).ne(0).all().item<bool>());
  EXPECT_TRUE(max.narrow(2, 0, 2).eq(-kInf).all().item<bool>());
  EXPECT_TRUE(sum.narrow(2, 0, 2).eq(0).all().item<bool>());
  const auto [dq, dk, dv, dpse, dsink] =
      npu_fusion_attention_grad(in.q, in.k, in.v, at::ones_like(y), options);
  EXPECT_TRUE(dq.narrow(2, 0, 2).eq(0).all().item<bool>());
  EXPECT_TRUE(at::isfinite(dq).all().item<bool>());
  EXPECT_TRUE(at::isfinite(dk).all().item<bool>());
}

// A sink is one more key of each head whose value is zero: its score takes part in the softmax, and
// nothing else of it.
TEST(Attention, ASinkTakesItsShare) {
  const Extent e = {.b = 2, .n1 = 4, .n2 = 2, .s1 = 3, .s2 = 5, .d = 2, .dv = 2};
  const Tensors in = tensors(e);
  const at::Tensor sink = random({e.n1}, 12);
  const at::Tensor dy = random({e.b, e.n1, e.s1, e.dv}, 5);
  const at::Tensor full = random({e.s1, e.s2}, 31) > 0.2;
  for (const at::Tensor& mask : {at::Tensor(), full, at::ones({e.s1, e.s2}, at::kBool)}) {
    FusionAttention options;
    options.head_num = e.n1;
    options.input_layout = "BNSD";
    options.scale = 0.6;
    options.atten_mask = mask;
    const auto composed = [&](const std::vector<at::Tensor>& x) {
      const at::Tensor k = x[1].repeat_interleave(e.n1 / e.n2, 1);
      const at::Tensor v = x[2].repeat_interleave(e.n1 / e.n2, 1);
      at::Tensor scores = at::einsum("bnrd,bncd->bnrc", {x[0], k}) * 0.6;
      if (mask.defined()) scores = scores.masked_fill(mask, -kInf);
      const at::Tensor column = x[3].reshape({1, e.n1, 1, 1}).expand({e.b, e.n1, e.s1, 1});
      const at::Tensor shares = at::cat({scores, column}, -1).softmax(-1);
      return at::einsum("bnrc,bncd->bnrd", {shares.narrow(-1, 0, e.s2), v});
    };
    const std::vector<at::Tensor> leaves = {in.q, in.k, in.v, sink};
    const auto found = [&](const std::vector<at::Tensor>& x) {
      FusionAttention with_sink = options;
      with_sink.sink = x[3];
      return std::get<0>(npu_fusion_attention(x[0], x[1], x[2], with_sink));
    };
    expect_near(found(leaves), composed(leaves), 1e-12);
    const auto wanted = autograd_of(composed, leaves, dy);
    const auto gradients = autograd_of(found, leaves, dy);
    for (std::size_t i = 0; i < 4; ++i) expect_near(gradients[i], wanted[i], 1e-12);
    options.sink = sink;
    const FusionAttentionGradients explicitly =
        npu_fusion_attention_grad(in.q, in.k, in.v, dy, options);
    EXPECT_TRUE(explicitly.query.equal(gradients[0]));
    EXPECT_TRUE(explicitly.sink.equal(gradients[3]));
  }
}

TEST(Attention, ScaleIsOneWhereNotGiven) {
  const Extent e;
  const Tensors in = tensors(e);
  FusionAttention options;
  options.head_num = e.n1;
  options.input_layout = "BNSD";
  const auto wanted = definition(e, in.q, in.k, in.v, {}, [](const Indices&) { return false; }, 1);
  expect_near(std::get<0>(npu_fusion_attention(in.q, in.k, in.v, options)), wanted.y, 1e-12);
}

TEST(Attention, ValuesMayHaveAHeadSizeOfTheirOwn) {
  Extent e;
  e.n2 = 2;
  e.dv = 2;
  const Tensors in = tensors(e);
  const Masking masking = maskings(e)[3];
  const auto wanted = definition(e, in.q, in.k, in.v, {}, masking.masked, 0.6);
  for (const std::string layout : {"BSH", "SBH", "BSND", "BNSD"}) {
    const auto [y, max, sum] =
        npu_fusion_attention(arranged(in.q, layout), arranged(in.k, layout), arranged(in.v, layout),
                             options_of(layout, e, masking));
    expect_near(y, arranged(wanted.y, layout), 1e-12);
  }
}

TEST(Attention, MixedDtypesBecomeThatOfTheQuery) {
  const Extent e;
  const Tensors in = tensors(e);
  const at::Tensor key = in.k.to(at::kFloat).requires_grad_();
  const auto [y, max, sum] = npu_fusion_attention(in.q.to(at::kBFloat16), key, in.v,
                                                  options_of("BNSD", e, maskings(e)[0]));
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  y.backward(at::ones_like(y));
  EXPECT_EQ(key.grad().scalar_type(), at::kFloat);
}

TEST(Attention, AnEmptyPseIsNoPse) {
  const Extent e;
  const Tensors in = tensors(e);
  FusionAttention options = options_of("BNSD", e, maskings(e)[0]);
  const at::Tensor plain = std::get<0>(npu_fusion_attention(in.q, in.k, in.v, options));
  options.pse = at::scalar_tensor(3.0, at::kDouble);
  EXPECT_TRUE(plain.equal(std::get<0>(npu_fusion_attention(in.q, in.k, in.v, options))));
}

// PyTorch 1.13 has no product of float16 matrices on a CPU.
bool multiplies(at::ScalarType dtype) {
  const at::Tensor x = at::ones({1, 2, 2}, dtype);
  return message_of([&] { at::matmul(x, x); }).empty();
}

TEST(Attention, HalfTypesStayHalfAndClose) {
  Extent e;
  e.n2 = 2;
  const Tensors in = tensors(e);
  const Masking masking = maskings(e)[4];
  const FusionAttention options = options_of("BNSD", e, masking);
  for (const auto& [dtype, tolerance] :
       {std::pair{at::kFloat, 1e-5}, {at::kHalf, 1e-2}, {at::kBFloat16, 8e-2}}) {
    if (!multiplies(dtype)) continue;
    const auto leaf = [to = dtype](const at::Tensor& x) { return x.to(to).requires_grad_(); };
    const Tensors low = {leaf(in.q), leaf(in.k), leaf(in.v)};
    const auto [y, max, sum] = npu_fusion_attention(low.q, low.k, low.v, options);
    EXPECT_EQ(y.scalar_type(), dtype);
    EXPECT_EQ(max.scalar_type(), at::kFloat);
    const Tensors raised = {low.q.detach().to(at::kDouble), low.k.detach().to(at::kDouble),
                            low.v.detach().to(at::kDouble)};
    const auto wanted =
        definition(e, raised.q, raised.k, raised.v, {}, masking.masked, options.scale);
    expect_near(y, wanted.y, tolerance);
    y.backward(at::ones_like(y));
    EXPECT_EQ(low.q.grad().scalar_type(), dtype);
    const auto gradients = wanted_gradients(e, raised, {}, masking.masked, options.scale,
                                            at::ones(y.sizes(), at::kDouble));
    expect_near(low.k.grad(), gradients[1], 4 * tolerance);
    expect_near(low.v.grad(), gradients[2], 4 * tolerance);
  }
}

// Blocks of every size give what one block gives.
TEST(AttentionCore, BlocksMakeNoDifference) {
  Extent e;
  e.b = 3;
  e.n2 = 2;
  const Tensors in = tensors(e);
  AttentionInputs inputs = {
      .query = in.q,
      .key = in.k,
      .value = in.v,
      .pse = random({1, e.n1, e.s1, e.s2}, 7),
      .sink = {},
      .mask = {.given = random({e.b, 1, e.s1, e.s2}, 8) > 0.5, .lowest = -3, .highest = 4},
      .scale = 0.5};
  const at::Tensor dy = random({e.b, e.n1, e.s1, e.dv}, 9);
  const AttentionOutputs whole = attention(inputs);
  const AttentionGradients gradients = attention_backward(inputs, dy);
  for (const std::int64_t most : {1, 14, 15, 40, 70, 75, 140, 200, 1000}) {
    SCOPED_TRACE(testing::Message() << "at most " << most << " scores");
    const AttentionOutputs outputs = attention(inputs, most);
    expect_near(outputs.y, whole.y, 1e-14);
    expect_near(outputs.sum, whole.sum, 1e-14);
    const AttentionGradients found = attention_backward(inputs, dy, most);
    expect_near(found.query, gradients.query, 1e-13);
    expect_near(found.key, gradients.key, 1e-13);
    expect_near(found.value, gradients.value, 1e-13);
    expect_near(found.pse, gradients.pse, 1e-13);
  }
}

std::string refusal(const std::string& layout, at::IntArrayRef query, at::IntArrayRef key,
                    std::int64_t head_num, const std::function<void(FusionAttention&)>& change) {
  return message_of([&] {
    FusionAttention options;
    options.head_num = head_num;
    options.input_layout = layout;
    change(options);
    const at::Tensor k = random(key, 2);
    npu_fusion_attention(random(query, 1), k, k, options);
  });
}

TEST(Attention, RefusesWhatDoesNotFit) {
  const auto same = [](FusionAttention&) {};
  using testing::HasSubstr;
  EXPECT_THAT(refusal("BNDS", {1, 2, 3, 4}, {1, 2, 3, 4}, 2, same),
              HasSubstr("Invalid input_layout arg which must be one of"));
  EXPECT_THAT(refusal("BSH", {1, 3, 8}, {1, 3, 8}, 0, same),
              HasSubstr("head_num must be positive"));
  EXPECT_THAT(refusal("BSH", {1, 3, 8}, {1, 3, 8}, 3, same),
              HasSubstr("hidden size 8 of query cannot be split into head_num 3 heads"));
  EXPECT_THAT(refusal("SBH", {3, 1, 2}, {3, 1, 2}, 4, same), HasSubstr("cannot be split"));
  EXPECT_THAT(refusal("BSH", {1, 3, 8}, {1, 3, 6}, 2, same),
              HasSubstr("not a multiple of the head size 4"));
  EXPECT_THAT(refusal("BNSD", {1, 4, 3, 2}, {1, 3, 3, 2}, 4, same),
              HasSubstr("query has 4 heads, which is not a multiple of the 3 heads of key"));
  EXPECT_THAT(refusal("BSND", {1, 3, 2, 4}, {1, 3, 4, 4}, 2, same), HasSubstr("not a multiple"));
  EXPECT_THAT(refusal("BNSD", {3, 8}, {3, 8}, 2, same), HasSubstr("needs 4 dimensions"));
  EXPECT_THAT(refusal("BNSD", {1, 2, 3, 4}, {1, 2, 3, 5}, 2, same),
              HasSubstr("head size 4, key 5"));
  EXPECT_THAT(refusal("BNSD", {1, 2, 3, 4}, {2, 2, 3, 4}, 2, same),
              HasSubstr("do not fit each other"));
  EXPECT_THAT(refusal("TND", {3, 2, 4}, {3, 2, 4}, 2, same),
              HasSubstr("TND needs actual_seq_qlen and actual_seq_kvlen"));
  EXPECT_THAT(refusal("TND", {3, 2, 4}, {3, 2, 4}, 2,
                      [](FusionAttention& options) {
                        options.actual_seq_qlen = {4};
                        options.actual_seq_kvlen = {3};
                      }),
              HasSubstr("ends at row 4"));
  for (const std::int64_t mode : {-1, 6, 7, 8}) {
    EXPECT_THAT(refusal("BNSD", {1, 2, 3, 4}, {1, 2, 3, 4}, 2,
                        [&](FusionAttention& options) {
                          options.sparse_mode = mode;
                          options.atten_mask = at::ones({3, 3});
                        }),
                HasSubstr("sparse_mode " + std::to_string(mode) + " is not supported"));
  }
  EXPECT_THAT(
      refusal("BNSD", {1, 2, 3, 4}, {1, 2, 3, 4}, 2,
              [](FusionAttention& options) { options.atten_mask = at::ones({4, 4}); }),
      HasSubstr("atten_mask of shape [4, 4] does not fit the scores of shape [1, 2, 3, 3]"));
  EXPECT_THAT(refusal("BNSD", {1, 2, 3, 4}, {1, 2, 3, 4}, 2,
                      [](FusionAttention& options) { options.pse = at::ones({1, 2, 2, 3}); }),
              HasSubstr("pse of shape [1, 2, 2, 3] does not fit"));
}

TEST(AttentionParts, PutTogetherAreTheAttentionOverAllKeys) {
  const at::Tensor scores = random({6, 10}, 51, -3, 3);
  const at::Tensor values = random({10, 4}, 52);
  const at::Tensor whole = at::matmul(at::softmax(scores, -1), values);
  std::vector<at::Tensor> lse;
  std::vector<at::Tensor> parts;
  for (const auto& [first, count] : {std::pair{0, 3}, std::pair{3, 7}}) {
    const at::Tensor some = scores.narrow(1, first, count);
    lse.push_back(at::logsumexp(some, 1));
    parts.push_back(at::matmul(at::softmax(some, -1), values.narrow(0, first, count)));
  }
  const auto [out, of_all] = npu_attention_update(lse, parts);
  expect_near(out, numbers(whole), 1e-13);
  expect_near(of_all, numbers(at::logsumexp(scores, 1)), 1e-13);
}

}  // namespace
}  // namespace msprobe::execute::npu
