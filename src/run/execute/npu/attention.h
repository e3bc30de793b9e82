// SPDX-License-Identifier: Apache-2.0
// Bench definition of npu_fusion_attention: its layouts and masks around attention_core.h.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// The operator's arguments beside query, key and value, with its defaults. There is no keep_prob:
// a dropout mask drawn by a device cannot be drawn again elsewhere, so nothing is dropped.
struct FusionAttention {
  std::int64_t head_num = 0;  // of the query; BSND, BNSD and TND read it from the shape
  std::string input_layout;   // BSH, SBH, BSND, BNSD or TND
  at::Tensor pse;             // added to the scores before they are scaled
  at::Tensor atten_mask;      // not 0: masked. Undefined: nothing is, regardless of the mode
  at::Tensor sink;            // one for each head of the query, a further score of its rows
  double scale = 1;
  std::int64_t pre_tockens = 2147483647;
  std::int64_t next_tockens = 2147483647;
  std::vector<std::int64_t> actual_seq_qlen;  // where each sequence of TND ends
  std::vector<std::int64_t> actual_seq_kvlen;
  std::int64_t sparse_mode = 0;
};

// (Y in the layout of the query, the maximum and the sum of each row of the softmax, both eight
// times along a last dimension). Differentiable through Y.
std::tuple<at::Tensor, at::Tensor, at::Tensor> npu_fusion_attention(const at::Tensor& query,
                                                                    const at::Tensor& key,
                                                                    const at::Tensor& value,
                                                                    const FusionAttention& options);

// The gradients of query, key, value, pse and sink (undefined if there is none) from that of Y.
struct FusionAttentionGradients {
  at::Tensor query, key, value, pse, sink;
};
FusionAttentionGradients npu_fusion_attention_grad(const at::Tensor& query, const at::Tensor& key,
                                                   const at::Tensor& value, const at::Tensor& dy,
                                                   const FusionAttention& options);

}  // namespace msprobe::execute::npu
