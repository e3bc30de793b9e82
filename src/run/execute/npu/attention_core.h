// SPDX-License-Identifier: Apache-2.0
// softmax((Q K^T + pse) * scale) V over tensors in the order (batch, head, sequence, head size).
// With a sink, each row of the softmax has one more score, which takes its share and gives nothing.
//
// The score matrix is never held whole: it is computed in blocks, in the forward and again in the
// backward, so memory does not grow with the square of the sequence length.
#pragma once

#include <cstdint>
#include <limits>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// Which scores take part. A row without any gives an output and gradients of zero.
struct AttentionMask {
  at::Tensor given;  // true: masked. Broadcast over the scores, or undefined.
  // Key column c is seen from query row r when lowest <= c - r <= highest.
  std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  std::int64_t highest = std::numeric_limits<std::int64_t>::max();
};

struct AttentionInputs {
  at::Tensor query;  // (b, n1, s1, d)
  at::Tensor key;    // (b, n2, s2, d), n1 a multiple of n2
  at::Tensor value;  // (b, n2, s2, dv)
  at::Tensor pse;    // broadcast over the scores (b, n1, s1, s2), or undefined
  at::Tensor sink;   // (1, n1, 1, 1): a further score of each row, without a value; or undefined
  AttentionMask mask;
  double scale = 1;
};

struct AttentionOutputs {
  at::Tensor y;    // (b, n1, s1, dv)
  at::Tensor max;  // (b, n1, s1, 1) of each row of scores; -inf where the row is masked
  at::Tensor sum;  // (b, n1, s1, 1) of exp(score - max); 0 where the row is masked
};

struct AttentionGradients {
  at::Tensor query, key, value, pse, sink;  // the last two undefined if there is none
};

// Products are computed in the dtype of the inputs, the softmax in float32 at least. `max_scores`
// bounds the number of scores in a block.
constexpr std::int64_t kMaxScores = std::int64_t{1} << 20;

// Differentiable in query, key, value, pse and sink, through y only.
AttentionOutputs attention(const AttentionInputs& inputs, std::int64_t max_scores = kMaxScores);

AttentionGradients attention_backward(const AttentionInputs& inputs, const at::Tensor& grad_y,
                                      std::int64_t max_scores = kMaxScores);

// Parts of one attention over parts of its keys, put together: the sum of each part times
// exp(its logsumexp - that of all), and that of all.
std::tuple<at::Tensor, at::Tensor> npu_attention_update(const std::vector<at::Tensor>& lse,
                                                        const std::vector<at::Tensor>& parts);

}  // namespace msprobe::execute::npu
