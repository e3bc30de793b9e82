// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/infer_attention.h"

#include <algorithm>

#include "execute/npu/attention.h"
#include "execute/npu/attention_bounds.h"
#include "execute/npu/compute_dtype.h"

namespace msprobe::execute::npu {
namespace {

struct Layouts {
  std::string input, output;
};

Layouts layouts_of(const std::string& text) {
  const std::size_t bar = text.find('_');
  Layouts layouts{text.substr(0, bar), bar == std::string::npos ? text : text.substr(bar + 1)};
  constexpr const char* kInputs[] = {"BSH", "BSND", "BNSD", "TND", "NTD"};
  constexpr const char* kOutputs[] = {"BSH", "BSND", "BNSD", "NBSD", "TND", "NTD"};
  TORCH_CHECK(std::ranges::find(kInputs, layouts.input) != std::end(kInputs) &&
                  std::ranges::find(kOutputs, layouts.output) != std::end(kOutputs),
              "unknown input_layout '", text, "' (known: BSH, BSND, BNSD, TND, NTD, and pairs)");
  return layouts;
}

bool is_packed(const std::string& layout) { return layout == "TND" || layout == "NTD"; }

// As (batch, heads, rows, head size); the packed layouts are one batch.
at::Tensor to_heads(const at::Tensor& tensor, const std::string& layout, std::int64_t heads) {
  if (layout == "BSH") {
    TORCH_CHECK(tensor.dim() == 3 && heads > 0 && tensor.size(2) % heads == 0, "shape ",
                tensor.sizes(), " cannot be split into ", heads, " heads");
    return tensor.reshape({tensor.size(0), tensor.size(1), heads, -1}).permute({0, 2, 1, 3});
  }
  TORCH_CHECK(tensor.dim() == (is_packed(layout) ? 3 : 4), "input_layout ", layout,
              " does not fit the shape ", tensor.sizes());
  if (layout == "BSND") return tensor.permute({0, 2, 1, 3});
  if (layout == "TND") return tensor.permute({1, 0, 2}).unsqueeze(0);
  if (layout == "NTD") return tensor.unsqueeze(0);
  return tensor;
}

at::Tensor from_heads(const at::Tensor& tensor, const std::string& layout) {
  if (layout == "BSH") return tensor.permute({0, 2, 1, 3}).flatten(2);
  if (layout == "BSND") return tensor.permute({0, 2, 1, 3}).contiguous();
  if (layout == "NBSD") return tensor.permute({1, 0, 2, 3}).contiguous();
  if (layout == "TND") return tensor.squeeze(0).permute({1, 0, 2}).contiguous();
  if (layout == "NTD") return tensor.squeeze(0);
  return tensor;
}

// Where a sequence lies.
struct SequenceRows {
  std::int64_t batch = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

std::vector<SequenceRows> packed_rows(const Integers& ends, std::int64_t rows) {
  std::vector<SequenceRows> all;
  std::int64_t first = 0;
  for (const std::int64_t end : ends) {
    TORCH_CHECK(end >= first && end <= rows, "a sequence ends at row ", end, ", one from ", first,
                " to ", rows, " is needed");
    all.push_back({0, first, end - first});
    first = end;
  }
  return all;
}

std::vector<SequenceRows> padded_rows(const Integers& lengths, std::int64_t batch,
                                      std::int64_t rows, std::int64_t padding, bool left) {
  std::vector<SequenceRows> all;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t length =
        lengths.empty() ? rows : lengths.at(lengths.size() == 1 ? 0 : static_cast<std::size_t>(b));
    TORCH_CHECK(length >= 0 && length <= rows, "sequence ", b, " has ", length, " of ", rows,
                " rows");
    all.push_back({b, left ? std::max<std::int64_t>(rows - padding - length, 0) : 0, length});
  }
  return all;
}

at::Tensor of_rows(const at::Tensor& heads, const SequenceRows& rows) {
  return heads.narrow(0, rows.batch, 1).narrow(2, rows.first, rows.count);
}

// The mask that is meant for one sequence, four dimensions that broadcast over its scores.
at::Tensor given_mask(const InferAttention& options, const SequenceRows& query, std::int64_t keys,
                      std::int64_t batches) {
  at::Tensor mask = options.mask.ne(0);
  if (mask.dim() == 2 && query.count == 1 && mask.size(0) == batches && batches > 1) {
    mask = mask.unsqueeze(1);  // (B, keys) of one row each
  }
  if (mask.dim() == 3) mask = mask.unsqueeze(1);
  while (mask.dim() < 4) mask = mask.unsqueeze(0);
  if (mask.size(0) > 1) mask = mask.narrow(0, query.batch, 1);
  TORCH_CHECK((mask.size(2) == 1 || mask.size(2) >= query.count) && mask.size(3) >= keys,
              "atten_mask of shape ", options.mask.sizes(), " does not cover ", query.count,
              " rows and ", keys, " keys");
  if (mask.size(2) > 1) mask = mask.narrow(2, 0, query.count);
  return mask.narrow(3, 0, keys);
}

AttentionMask mask_of(const InferAttention& options, const SequenceRows& query, std::int64_t keys,
                      std::int64_t batches) {
  AttentionMask mask;
  if (!options.mask.defined()) return mask;
  const bool by_mode = options.sparse_mode >= 2 && options.sparse_mode <= 4;
  TORCH_CHECK(options.sparse_mode >= 0 && options.sparse_mode <= 4, "sparse_mode ",
              options.sparse_mode, " is not supported, one of 0 to 4 is needed");
  if (!by_mode) {
    mask.given = given_mask(options, query, keys, batches);
    return mask;
  }
  if (query.count == 1 && !options.query_rope.defined()) return mask;  // the mode has no effect
  const std::int64_t corner = keys - query.count;
  mask.highest = options.sparse_mode == 2 ? 0 : corner;
  if (options.sparse_mode == 4) {
    mask.lowest = corner - options.pre_tokens;
    mask.highest = corner + options.next_tokens;
  }
  return mask;
}

// SequenceRows without a key that they see.
at::Tensor empty_rows(const AttentionMask& mask, std::int64_t rows, std::int64_t keys,
                      const at::Tensor& like) {
  const auto options = like.options().dtype(at::kLong);
  const at::Tensor row = at::arange(rows, options).unsqueeze(1);
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const at::Tensor lowest = (row + std::max(mask.lowest, -kFar)).clamp_min(0);
  const at::Tensor highest = (row + std::min(mask.highest, kFar)).clamp_max(keys - 1);
  const at::Tensor none = lowest.gt(highest).reshape({1, 1, rows, 1});
  if (!mask.given.defined()) return none;
  return none.logical_or(mask.given.all(-1, /*keepdim=*/true));
}

// Four dimensions that broadcast over the scores of one sequence.
at::Tensor pse_of(const at::Tensor& pse, const SequenceRows& query, std::int64_t keys) {
  if (!pse.defined() || pse.numel() == 0) return {};
  at::Tensor part = pse;
  while (part.dim() < 4) part = part.unsqueeze(0);
  if (part.size(0) > 1) part = part.narrow(0, query.batch, 1);
  if (part.size(2) > 1) part = part.narrow(2, 0, query.count);
  return part.narrow(3, 0, keys);
}

// Keys or values of every sequence.
std::vector<at::Tensor> sequences(const at::Tensor& tensor, const InferAttention& options,
                                  const std::string& layout, std::int64_t heads,
                                  std::size_t batches) {
  std::vector<at::Tensor> parts;
  if (options.block_table.defined()) {
    const at::Tensor table = options.block_table.to(at::kLong);
    for (std::size_t b = 0; b < batches; ++b) {
      const std::int64_t length = options.key_lengths.at(options.key_lengths.size() == 1 ? 0 : b);
      parts.push_back(paged(tensor, table[static_cast<std::int64_t>(b)], length, heads));
    }
    return parts;
  }
  const at::Tensor split = to_heads(tensor, layout, heads);
  const std::vector<SequenceRows> rows =
      is_packed(layout) ? packed_rows(options.key_lengths, split.size(2))
                        : padded_rows(options.key_lengths, split.size(0), split.size(2),
                                      options.key_padding, options.key_padded_left);
  for (const SequenceRows& each : rows) parts.push_back(of_rows(split, each));
  return parts;
}

void put_before(std::vector<at::Tensor>& parts, const at::Tensor& prefix,
                const InferAttention& options, const std::string& layout, std::int64_t heads) {
  if (!prefix.defined()) return;
  at::Tensor all = to_heads(prefix, layout, heads);
  if (options.prefix_length >= 0) all = all.narrow(2, 0, options.prefix_length);
  for (at::Tensor& part : parts) part = at::cat({all.to(part.scalar_type()), part}, 2);
}

// `rows` holds what belongs to the rows of the parts, in the order (batch, heads, rows, width).
at::Tensor rows_joined(const InferPlan& plan, const std::vector<at::Tensor>& parts,
                       std::int64_t width, const at::TensorOptions& options) {
  at::Tensor all = at::zeros({plan.rows[0], plan.rows[1], plan.rows[2], width}, options);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const InferPart& part = plan.parts[i];
    all.narrow(0, part.batch, 1)
        .narrow(2, part.first, parts[i].size(2))
        .copy_(parts[i].expand({1, plan.rows[1], parts[i].size(2), width}));
  }
  return all;
}

at::Tensor lse_layout(const InferPlan& plan, const at::Tensor& lse) {
  return is_packed(plan.output_layout) ? lse.squeeze(0).permute({1, 0, 2}).contiguous() : lse;
}

}  // namespace

at::Tensor paged(const at::Tensor& cache, const at::Tensor& pages, std::int64_t length,
                 std::int64_t heads) {
  at::Tensor blocks = cache;  // (blocks, heads, size, D)
  if (cache.dim() == 3) {
    blocks = cache.reshape({cache.size(0), cache.size(1), heads, -1}).permute({0, 2, 1, 3});
  } else if (cache.dim() == 5) {
    blocks = cache.permute({0, 1, 3, 2, 4}).flatten(3);
  }
  const std::int64_t size = blocks.size(2);
  const std::int64_t needed = (length + size - 1) / size;
  TORCH_CHECK(needed <= pages.size(0), length, " positions do not fit ", pages.size(0),
              " pages of ", size);
  const at::Tensor found = blocks.index_select(0, pages.narrow(0, 0, needed));
  return found.permute({1, 0, 2, 3}).flatten(1, 2).narrow(1, 0, length).unsqueeze(0);
}

InferPlan infer_plan(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const InferAttention& options) {
  const Layouts layouts = layouts_of(options.layout);
  const std::int64_t key_heads = options.key_heads == 0 ? options.heads : options.key_heads;
  at::Tensor queries = to_heads(query, layouts.input, options.heads);
  if (options.query_rope.defined()) {
    queries = at::cat({queries, to_heads(options.query_rope, layouts.input, options.heads)}, 3);
  }
  const bool packed = is_packed(layouts.input);
  TORCH_CHECK(!packed || !options.query_lengths.empty(), "input_layout ", options.layout,
              " needs the ends of the sequences");
  TORCH_CHECK(!options.block_table.defined() || !options.key_lengths.empty(),
              "block_table needs the lengths of the keys");
  const std::vector<SequenceRows> rows =
      packed ? packed_rows(options.query_lengths, queries.size(2))
             : padded_rows(options.query_lengths, queries.size(0), queries.size(2),
                           options.query_padding, options.query_padded_left);
  // A cache may be as large as memory: only the pages of these sequences are made wider.
  const auto parts_of = [&](const at::Tensor& tensor) {
    std::vector<at::Tensor> parts =
        sequences(tensor, options, layouts.input, key_heads, rows.size());
    for (at::Tensor& part : parts) part = part.to(query.scalar_type());
    return parts;
  };
  std::vector<at::Tensor> keys = parts_of(key);
  std::vector<at::Tensor> values = parts_of(value);
  if (options.key_rope.defined()) {
    const std::vector<at::Tensor> ropes = parts_of(options.key_rope);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = at::cat({keys[i], ropes[i]}, 3);
  }
  put_before(keys, options.key_prefix, options, layouts.input, key_heads);
  put_before(values, options.value_prefix, options, layouts.input, key_heads);
  TORCH_CHECK(keys.size() == rows.size(), rows.size(), " sequences of queries and ", keys.size(),
              " of keys");
  InferPlan plan{.parts = {},
                 .rows = {queries.size(0), queries.size(1), queries.size(2)},
                 .width = values.empty() ? 0 : values[0].size(3),
                 .output_layout = layouts.output,
                 .masked_rows_are_zero = options.masked_rows_are_zero || options.sparse_mode == 3};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t count = keys[i].size(2);
    InferPart part{
        .inputs = {.query = of_rows(queries, rows[i]),
                   .key = keys[i],
                   .value = values[i],
                   .pse = pse_of(options.pse, rows[i], count),
                   .sink = options.sink.defined() ? options.sink.reshape({1, options.heads, 1, 1})
                                                  : at::Tensor(),
                   .mask = mask_of(options, rows[i], count, static_cast<std::int64_t>(rows.size())),
                   .scale = options.scale},
        .batch = rows[i].batch,
        .first = rows[i].first,
        .empty_rows = {}};
    part.empty_rows = empty_rows(part.inputs.mask, rows[i].count, count, query);
    plan.parts.push_back(std::move(part));
  }
  return plan;
}

InferOutputs infer_attention(const InferPlan& plan) {
  std::vector<at::Tensor> y;
  std::vector<at::Tensor> lse;
  for (const InferPart& part : plan.parts) {
    const AttentionOutputs outputs = attention(part.inputs);
    y.push_back(outputs.y);
    lse.push_back((outputs.max + outputs.sum.log()).masked_fill(part.empty_rows, 0));
  }
  TORCH_CHECK(!y.empty(), "an attention without sequences");
  return {.y = from_heads(rows_joined(plan, y, plan.width, y[0].options()), plan.output_layout),
          .lse = lse_layout(plan, rows_joined(plan, lse, 1, lse[0].options()))};
}

InferBounds infer_bounds(const InferPlan& plan, double weights_unit, double scores_unit) {
  std::vector<at::Tensor> y, y_slack, lse, lse_slack;
  for (const InferPart& part : plan.parts) {
    const BoundedAttention found = bounded_attention(part.inputs, weights_unit, scores_unit);
    y.push_back(found.y.value);
    y_slack.push_back(found.y.slack);
    lse.push_back(found.lse.value);
    lse_slack.push_back(found.lse.slack);
  }
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const auto rows = [&](const std::vector<at::Tensor>& parts, std::int64_t width) {
    return rows_joined(plan, parts, width, options);
  };
  return {.y = {from_heads(rows(y, plan.width), plan.output_layout),
                from_heads(rows(y_slack, plan.width), plan.output_layout)},
          .lse = {lse_layout(plan, rows(lse, 1)), lse_layout(plan, rows(lse_slack, 1))}};
}

InferWritten infer_written(const InferPlan& plan) {
  std::vector<at::Tensor> y;
  std::vector<at::Tensor> lse;
  for (const InferPart& part : plan.parts) {
    const at::Tensor seen = part.empty_rows.logical_not();
    lse.push_back(seen);
    const bool zeros = plan.masked_rows_are_zero || part.inputs.key.size(2) == 0;
    y.push_back(zeros ? at::ones_like(seen) : seen);
  }
  const auto options = at::TensorOptions().dtype(at::kBool);
  const at::Tensor of_lse = rows_joined(plan, lse, 1, options);
  const at::Tensor of_y = rows_joined(plan, y, 1, options).expand({-1, -1, -1, plan.width});
  return {.y = from_heads(of_y, plan.output_layout), .lse = lse_layout(plan, of_lse)};
}

}  // namespace msprobe::execute::npu
