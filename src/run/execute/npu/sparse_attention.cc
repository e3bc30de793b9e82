// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/sparse_attention.h"

#include "execute/npu/infer_attention.h"

namespace msprobe::execute::npu {
namespace {

std::int64_t length_of(const std::vector<std::int64_t>& lengths, std::int64_t batch,
                       std::int64_t otherwise) {
  return lengths.empty() ? otherwise : lengths.at(static_cast<std::size_t>(batch));
}

at::Tensor heads_first(const at::Tensor& rows) { return rows.transpose(0, 1).unsqueeze(0); }

}  // namespace

std::vector<SparsePart> sparse_parts(const at::Tensor& query, const at::Tensor& key,
                                     const SparseLayout& layout) {
  const bool packed = layout.query == "TND";
  TORCH_CHECK(packed || layout.query == "BSND", "layout_query '", layout.query,
              "' has no benchmark");
  const bool paged_keys = layout.key == "PA_BSND";
  TORCH_CHECK(paged_keys || layout.key == layout.query, "layout_kv '", layout.key,
              "' has no benchmark");
  const auto batches =
      packed ? static_cast<std::int64_t>(layout.query_lengths.size()) : query.size(0);
  std::vector<SparsePart> parts;
  std::int64_t first_query = 0;
  std::int64_t first_key = 0;
  for (std::int64_t b = 0; b < batches; ++b) {
    SparsePart part{.query = {}, .key = {}, .batch = packed ? 0 : b};
    if (packed) {
      const std::int64_t end = layout.query_lengths[static_cast<std::size_t>(b)];
      part.first = first_query;
      part.query = heads_first(query.narrow(0, first_query, end - first_query));
      first_query = end;
    } else {
      part.query =
          heads_first(query[b].narrow(0, 0, length_of(layout.query_lengths, b, query.size(1))));
    }
    if (paged_keys) {
      part.keys = length_of(layout.key_lengths, b, 0);
      part.key = paged(key.permute({0, 2, 1, 3}), layout.block_table.to(at::kLong)[b], part.keys,
                       key.size(2));
    } else if (packed) {
      const std::int64_t end = layout.key_lengths.at(static_cast<std::size_t>(b));
      part.keys = end - first_key;
      part.key = heads_first(key.narrow(0, first_key, part.keys));
      first_key = end;
    } else {
      part.keys = length_of(layout.key_lengths, b, key.size(1));
      part.key = heads_first(key[b].narrow(0, 0, part.keys));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

at::Tensor rows_of_part(const at::Tensor& tensor, const SparsePart& part, bool packed) {
  const std::int64_t rows = part.query.size(2);
  return packed ? tensor.narrow(0, part.first, rows) : tensor[part.batch].narrow(0, 0, rows);
}

at::Tensor masked_but_chosen(const at::Tensor& indices, std::int64_t block, std::int64_t keys,
                             bool causal) {
  const std::int64_t rows = indices.size(0);
  const std::int64_t blocks = (keys + block - 1) / block;
  const at::Tensor index = indices.to(at::kLong);
  const at::Tensor outside = index.lt(0).logical_or(index.ge(blocks));
  // One more column takes what is no block.
  at::Tensor seen = at::zeros({rows, blocks + 1}, at::kBool);
  seen.scatter_(1, index.masked_fill(outside, blocks), true);
  at::Tensor masked =
      seen.narrow(1, 0, blocks).repeat_interleave(block, 1).narrow(1, 0, keys).logical_not();
  if (!causal) return masked;
  const at::Tensor offset = at::arange(keys).unsqueeze(0) - at::arange(rows).unsqueeze(1);
  return masked.logical_or(offset.gt(keys - rows));
}

at::Tensor indexer_scores(const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& weights) {
  at::Tensor scores;
  for (std::int64_t head = 0; head < query.size(1); ++head) {
    const at::Tensor one =
        at::matmul(query[0][head], key[0][0].t()).clamp_min(0) * weights.narrow(1, head, 1);
    scores = scores.defined() ? scores + one : one;
  }
  return scores;
}

}  // namespace msprobe::execute::npu
