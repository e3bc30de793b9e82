// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "execute/npu/attention.h"
#include "execute/npu/attention_for_test.h"

namespace msprobe::execute::npu {
namespace {

// Sequences of TND, one after the other, each as the definition has it.
void expect_one_attention_per_sequence(std::int64_t key_heads) {
  Extent e = {.b = 1, .n1 = 4, .n2 = key_heads};
  const std::vector<std::int64_t> query_ends = {3, 3, 8, 10, 0};  // one empty, one taking no part
  const std::vector<std::int64_t> key_ends = {4, 6, 9, 9, 0};     // one without keys
  const std::int64_t query_rows = 12;
  const std::int64_t key_rows = 10;
  const Tensors all = tensors({1, e.n1, e.n2, query_rows, key_rows, e.d, e.dv});
  const auto tnd = [](const at::Tensor& bnsd) { return arranged(bnsd, "BSND").squeeze(0); };
  const at::Tensor dy = random({1, e.n1, query_rows, e.dv}, 5);
  const at::Tensor mask = random({8, 8}, 10) > 0.4;

  enum class Way { kNone, kGiven, kCompressed };
  for (const Way way : {Way::kNone, Way::kGiven, Way::kCompressed}) {
    for (const std::int64_t mode : {0, 2, 3, 4}) {
      if (way == Way::kCompressed && mode == 0) continue;
      SCOPED_TRACE(testing::Message() << "mode " << mode << ", way " << static_cast<int>(way));
      FusionAttention options;
      options.head_num = e.n1;
      options.input_layout = "TND";
      options.scale = 0.6;
      options.sparse_mode = mode;
      options.pre_tockens = 2;
      options.next_tockens = 1;
      options.actual_seq_qlen = query_ends;
      options.actual_seq_kvlen = key_ends;
      if (way == Way::kGiven) options.atten_mask = mask;
      if (way == Way::kCompressed) options.atten_mask = compressed_mask();

      at::Tensor y = at::zeros({1, e.n1, query_rows, e.dv}, at::kDouble);
      at::Tensor dq = at::zeros_like(all.q);
      at::Tensor dk = at::zeros_like(all.k);
      at::Tensor dv = at::zeros_like(all.v);
      std::int64_t q0 = 0;
      std::int64_t k0 = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        e.s1 = query_ends[i] - q0;
        e.s2 = key_ends[i] - k0;
        const Tensors part = {all.q.narrow(2, q0, e.s1).contiguous(),
                              all.k.narrow(2, k0, e.s2).contiguous(),
                              all.v.narrow(2, k0, e.s2).contiguous()};
        const Masked masked = [&](const Indices& at_score) {
          const std::int64_t distance = at_score[3] - at_score[2];
          if (way == Way::kGiven) return mask[at_score[2]][at_score[3]].item<bool>();
          if (way == Way::kNone) return false;
          if (mode == 2) return distance >= 1;
          const std::int64_t corner = e.s2 - e.s1;
          if (mode == 3) return distance >= corner + 1;
          return distance > corner + 1 || distance < corner - 2;
        };
        y.narrow(2, q0, e.s1).copy_(definition(e, part.q, part.k, part.v, {}, masked, 0.6).y);
        const auto gradients =
            wanted_gradients(e, part, {}, masked, 0.6, dy.narrow(2, q0, e.s1).contiguous());
        dq.narrow(2, q0, e.s1).copy_(gradients[0]);
        dk.narrow(2, k0, e.s2).copy_(gradients[1]);
        dv.narrow(2, k0, e.s2).copy_(gradients[2]);
        q0 = query_ends[i];
        k0 = key_ends[i];
      }

      const auto [found, max, sum] =
          npu_fusion_attention(tnd(all.q), tnd(all.k), tnd(all.v), options);
      expect_near(found, tnd(y), 1e-12);
      EXPECT_EQ(max.sizes(), (at::IntArrayRef{query_rows, e.n1, 8}));
      EXPECT_EQ(sum.sizes(), max.sizes());
      const auto gradients = autograd_of(
          [&](const std::vector<at::Tensor>& x) {
            return std::get<0>(npu_fusion_attention(x[0], x[1], x[2], options));
          },
          {tnd(all.q), tnd(all.k), tnd(all.v)}, tnd(dy));
      expect_near(gradients[0], tnd(dq), 1e-12);
      expect_near(gradients[1], tnd(dk), 1e-12);
      expect_near(gradients[2], tnd(dv), 1e-12);
      const auto [gq, gk, gv, gpse, gsink] =
          npu_fusion_attention_grad(tnd(all.q), tnd(all.k), tnd(all.v), tnd(dy), options);
      EXPECT_TRUE(gq.equal(gradients[0]));
      EXPECT_TRUE(gk.equal(gradients[1]));
      EXPECT_TRUE(gv.equal(gradients[2]));
      EXPECT_FALSE(gpse.defined());
    }
  }
}

TEST(VarlenAttention, IsOneAttentionPerSequence) {
  for (const std::int64_t key_heads : {4, 2, 1}) expect_one_attention_per_sequence(key_heads);
}

TEST(VarlenAttention, TakesTheCompressedMask) {
  FusionAttention options;
  options.head_num = 2;
  options.input_layout = "TND";
  options.sparse_mode = 3;
  options.actual_seq_qlen = {2, 5};
  options.actual_seq_kvlen = {2, 5};
  const at::Tensor x = random({5, 2, 4}, 11);
  options.atten_mask = at::ones({3, 3}, at::kBool).triu(1);
  const at::Tensor given = std::get<0>(npu_fusion_attention(x, x, x, options));
  options.atten_mask = compressed_mask();
  EXPECT_TRUE(given.equal(std::get<0>(npu_fusion_attention(x, x, x, options))));
}

}  // namespace
}  // namespace msprobe::execute::npu
