// SPDX-License-Identifier: Apache-2.0
// Attention on chosen keys, and the scores by which they are chosen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "execute/npu/attention_core.h"
#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// Queries, keys and their lengths; tensors may be undefined, lists empty.
struct SparseLayout {
  std::string query = "BSND";  // or TND: the lengths are ends
  std::string key = "BSND";    // TND, or PA_BSND with a table
  std::vector<std::int64_t> query_lengths, key_lengths;
  at::Tensor block_table;
  bool causal = true;  // the last query sees all keys
};

// One sequence: queries (1, N, S1, D) and where they lie, keys (1, N2, S2, D).
struct SparsePart {
  at::Tensor query, key;
  std::int64_t batch = 0;
  std::int64_t first = 0;
  std::int64_t keys = 0;
};
// Of tensors with as many rows as the query or the keys. Differentiable.
std::vector<SparsePart> sparse_parts(const at::Tensor& query, const at::Tensor& key,
                                     const SparseLayout& layout);
// The rows of one part of a tensor in the layout of the queries, (rows, heads, width).
at::Tensor rows_of_part(const at::Tensor& tensor, const SparsePart& part, bool packed);

// Which keys each row may see by `indices` (rows, blocks), -1 for none, each block `block` keys
// long; (rows, keys), true: masked.
at::Tensor masked_but_chosen(const at::Tensor& indices, std::int64_t block, std::int64_t keys,
                             bool causal);

// (rows, keys): for each head the positive part of query and key's product, times its weight.
// `weights`: (rows, heads).
at::Tensor indexer_scores(const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& weights);

}  // namespace msprobe::execute::npu
