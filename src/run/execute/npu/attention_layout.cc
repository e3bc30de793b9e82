// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/attention_layout.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace msprobe::execute::npu {

namespace {

struct LayoutRow {
  const char* name;
  AttentionLayout layout;
  std::int64_t rank;
  std::int64_t head_dim;  // which dimension counts the heads; -1: they share one with the head size
};
constexpr LayoutRow kLayouts[] = {
    {"BSH", AttentionLayout::kBsh, 3, -1},  {"SBH", AttentionLayout::kSbh, 3, -1},
    {"BSND", AttentionLayout::kBsnd, 4, 2}, {"BNSD", AttentionLayout::kBnsd, 4, 1},
    {"TND", AttentionLayout::kTnd, 3, 1},
};

const LayoutRow& row_of(AttentionLayout layout) {
  return kLayouts[static_cast<std::size_t>(layout)];
}

void check_rank(const at::Tensor& tensor, const LayoutRow& row) {
  TORCH_CHECK(tensor.dim() == row.rank, "input_layout ", row.name, " needs ", row.rank,
              " dimensions, found shape ", tensor.sizes());
}

// The heads of query and key where a dimension holds heads and head size together.
Heads shared_heads(const at::Tensor& query, const at::Tensor& key, std::int64_t head_num) {
  TORCH_CHECK(head_num > 0, "head_num must be positive, found ", head_num);
  const std::int64_t head_size = query.size(-1) / head_num;
  TORCH_CHECK(head_size > 0 && query.size(-1) == head_size * head_num, "hidden size ",
              query.size(-1), " of query cannot be split into head_num ", head_num, " heads");
  TORCH_CHECK(key.size(-1) % head_size == 0, "hidden size ", key.size(-1),
              " of key is not a multiple of the head size ", head_size);
  return {.query = head_num, .key = key.size(-1) / head_size};
}

at::Tensor to_bnsd(const at::Tensor& tensor, AttentionLayout layout, std::int64_t heads) {
  const auto split = [&] {
    TORCH_CHECK(tensor.size(2) % heads == 0, "hidden size ", tensor.size(2),
                " cannot be split into ", heads, " heads");
    return tensor.reshape({tensor.size(0), tensor.size(1), heads, tensor.size(2) / heads});
  };
  switch (layout) {
    case AttentionLayout::kBsh:
      return split().permute({0, 2, 1, 3});
    case AttentionLayout::kSbh:
      return split().permute({1, 2, 0, 3});
    case AttentionLayout::kBsnd:
      return tensor.permute({0, 2, 1, 3});
    default:
      return tensor;
  }
}

at::Tensor from_bnsd(const at::Tensor& tensor, AttentionLayout layout) {
  switch (layout) {
    case AttentionLayout::kBsh:
      return tensor.permute({0, 2, 1, 3}).flatten(2);
    case AttentionLayout::kSbh:
      return tensor.permute({2, 0, 1, 3}).flatten(2);
    case AttentionLayout::kBsnd:
      return tensor.permute({0, 2, 1, 3}).contiguous();
    default:
      return tensor;
  }
}

}  // namespace

AttentionLayout layout_named(const std::string& name) {
  const auto* row =
      std::ranges::find_if(kLayouts, [&](const LayoutRow& r) { return name == r.name; });
  TORCH_CHECK(row != std::end(kLayouts),
              "Invalid input_layout arg which must be one of ['BSH', 'SBH', 'BSND', 'BNSD', "
              "'TND'], found '",
              name, "'");
  return row->layout;
}

Heads heads_of(const at::Tensor& query, const at::Tensor& key, AttentionLayout layout,
               std::int64_t head_num) {
  const LayoutRow& row = row_of(layout);
  check_rank(query, row);
  check_rank(key, row);
  const Heads heads = row.head_dim < 0
                          ? shared_heads(query, key, head_num)
                          : Heads{.query = query.size(row.head_dim), .key = key.size(row.head_dim)};
  TORCH_CHECK(heads.key > 0 && heads.query >= heads.key && heads.query % heads.key == 0,
              "query has ", heads.query, " heads, which is not a multiple of the ", heads.key,
              " heads of key");
  return heads;
}

std::vector<std::int64_t> sequence_lengths(const std::vector<std::int64_t>& ends,
                                           std::int64_t rows) {
  const auto last = std::find_if(ends.rbegin(), ends.rend(), [](std::int64_t e) { return e != 0; });
  const auto active = static_cast<std::size_t>(ends.rend() - last);
  std::vector<std::int64_t> lengths(ends.size(), 0);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < active; ++i) {
    TORCH_CHECK(ends[i] >= start && ends[i] <= rows, "sequence ", i, " of TND ends at row ",
                ends[i], ", a row from ", start, " to ", rows, " is needed");
    lengths[i] = ends[i] - start;
    start = ends[i];
  }
  return lengths;
}

std::vector<at::Tensor> split_parts(const at::Tensor& tensor, AttentionLayout layout,
                                    std::int64_t heads, const std::vector<std::int64_t>& lengths) {
  check_rank(tensor, row_of(layout));
  if (layout != AttentionLayout::kTnd) return {to_bnsd(tensor, layout, heads)};
  std::vector<std::int64_t> sizes = lengths;
  sizes.push_back(tensor.size(0) - std::reduce(lengths.begin(), lengths.end()));
  TORCH_CHECK(sizes.back() >= 0, "a TND tensor of ", tensor.size(0), " rows is shorter than its ",
              "sequences");
  std::vector<at::Tensor> parts = at::split_with_sizes(tensor, sizes, 0);
  parts.pop_back();
  for (at::Tensor& part : parts) part = part.permute({1, 0, 2}).unsqueeze(0);
  return parts;
}

at::Tensor join_parts(const std::vector<at::Tensor>& parts, AttentionLayout layout,
                      std::int64_t rows, double fill) {
  if (layout != AttentionLayout::kTnd) return from_bnsd(parts.front(), layout);
  std::vector<at::Tensor> pieces;
  std::int64_t rest = rows;
  for (const at::Tensor& part : parts) {
    pieces.push_back(part.squeeze(0).permute({1, 0, 2}));
    rest -= part.size(2);
  }
  const at::Tensor& like = pieces.front();
  pieces.push_back(
      at::full({rest, like.size(1), like.size(2)}, fill, like.options().requires_grad(false)));
  return at::cat(pieces);
}

}  // namespace msprobe::execute::npu
