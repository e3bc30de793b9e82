// SPDX-License-Identifier: Apache-2.0
// The attention of inference: lengths and padding of each sequence, keys in the pages of a cache,
// rotary parts beside the heads, and the logarithm of each row's sum. Around attention_core.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "execute/npu/attention_core.h"
#include "execute/npu/bounded.h"
#include "libtorch/aten.h"

namespace msprobe::execute::npu {

using Integers = std::vector<std::int64_t>;

// The arguments of npu_fused_infer_attention_score and its kin, with their defaults. Tensors may be
// undefined.
struct InferAttention {
  std::int64_t heads = 1;
  std::int64_t key_heads = 0;  // 0: as many as there are heads
  double scale = 1;
  std::string layout = "BSH";  // or "A_B": that of the inputs and that of the output
  at::Tensor pse = {};         // added to the scores before they are scaled
  at::Tensor mask = {};        // not 0: masked. Undefined: nothing is, whatever the mode
  at::Tensor sink = {};
  std::int64_t sparse_mode = 0;
  std::int64_t pre_tokens = 2147483647;
  std::int64_t next_tokens = 2147483647;
  // Of each sequence; where each ends in the layouts TND and NTD. Empty: all are full.
  Integers query_lengths = {};
  Integers key_lengths = {};
  at::Tensor block_table = {};  // (B, pages): which blocks of the cache hold the keys
  std::int64_t block_size = 0;
  std::int64_t query_padding = 0;  // rows behind the valid ones, which end there
  std::int64_t key_padding = 0;
  bool query_padded_left = false;
  bool key_padded_left = false;
  at::Tensor query_rope = {}, key_rope = {};
  at::Tensor key_prefix = {}, value_prefix = {};  // before the keys of every sequence
  std::int64_t prefix_length = -1;                // -1: all of it
  bool masked_rows_are_zero = true;               // else rows without a key are not defined
};

// One sequence of an attention.
struct InferPart {
  AttentionInputs inputs;
  std::int64_t batch = 0;
  std::int64_t first = 0;  // of its rows in the query
  at::Tensor empty_rows;   // (1, 1 or heads, rows, 1): where no key is left; undefined: nowhere
};

struct InferPlan {
  std::vector<InferPart> parts;
  std::vector<std::int64_t> rows;  // (batch, heads, rows) of the output; TND is one batch
  std::int64_t width = 0;
  std::string output_layout;
  bool masked_rows_are_zero = true;
};

InferPlan infer_plan(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const InferAttention& options);

struct InferOutputs {
  at::Tensor y;    // in the layout of the output; rows that are not written are 0
  at::Tensor lse;  // (B, N, S, 1), or (T, N, 1): log(sum(exp(scores))), in float32 at least
};
InferOutputs infer_attention(const InferPlan& plan);

// The same in bounds; see attention_bounds.h.
struct InferBounds {
  Bounded y, lse;
};
InferBounds infer_bounds(const InferPlan& plan, double weights_unit, double scores_unit);

// True where the operator writes: rows of no sequence, and rows without a key where the call does
// not ask for zeros, are not defined. `lse`: a row without a key has none.
struct InferWritten {
  at::Tensor y, lse;
};
InferWritten infer_written(const InferPlan& plan);

// The first `length` positions of one sequence, (1, heads, length, head size), from a cache of
// (blocks, heads, size, D), (blocks, size, heads * D) or (blocks, heads, D / n, size, n).
at::Tensor paged(const at::Tensor& cache, const at::Tensor& pages, std::int64_t length,
                 std::int64_t heads);

}  // namespace msprobe::execute::npu
