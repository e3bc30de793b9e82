// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/attention.h"

#include <cstddef>
#include <cstring>
#include <limits>

#include "execute/npu/attention_core.h"
#include "execute/npu/attention_layout.h"

namespace msprobe::execute::npu {

namespace {

constexpr std::int64_t kCompressedSize = 2048;  // of the mask that stands for a causal one
constexpr std::int64_t kStatisticsCopies = 8;   // of each maximum and sum in the outputs

// The 2048 x 2048 mask by which callers of modes 2 to 4 say "as the mode tells", at any size.
bool is_compressed(const at::Tensor& mask) {
  if (!mask.defined() || mask.dim() < 2 || mask.size(-1) != kCompressedSize ||
      mask.size(-2) != kCompressedSize || mask.numel() != kCompressedSize * kCompressedSize) {
    return false;
  }
  const at::Tensor host = mask.to(at::kCPU);
  const at::Tensor flags = (host.scalar_type() == at::kBool ? host : host.ne(0)).contiguous();
  const bool* row = flags.data_ptr<bool>();
  for (std::size_t seen = 1; seen <= kCompressedSize; ++seen, row += kCompressedSize) {
    if (std::memchr(row, true, seen) != nullptr) return false;
    if (std::memchr(row + seen, false, kCompressedSize - seen) != nullptr) return false;
  }
  return true;
}

void check_sparse_mode(const FusionAttention& options) {
  const std::int64_t mode = options.sparse_mode;
  if (!options.atten_mask.defined()) return;  // then it says nothing
  TORCH_CHECK(mode >= 0 && mode <= 5, "sparse_mode ", mode,
              " is not supported, one of 0 to 5 is needed");
}

// Four dimensions, each of size one or that of the scores.
at::Tensor over_scores(const at::Tensor& tensor, at::IntArrayRef scores, const char* name) {
  TORCH_CHECK(tensor.dim() <= 4, name, " of shape ", tensor.sizes(), " has more than 4 dimensions");
  at::Tensor result = tensor;
  while (result.dim() < 4) result = result.unsqueeze(0);
  for (std::int64_t dim = 0; dim < 4; ++dim) {
    const std::int64_t wanted = scores[static_cast<std::size_t>(dim)];
    TORCH_CHECK(result.size(dim) == 1 || result.size(dim) == wanted, name, " of shape ",
                tensor.sizes(), " does not fit the scores of shape ", scores);
  }
  return result;
}

// The columns that a mode lets a row see where the mask is the compressed one.
AttentionMask mode_mask(const FusionAttention& options, std::int64_t rows, std::int64_t columns) {
  AttentionMask mask;
  switch (options.sparse_mode) {
    case 2:
      mask.highest = 0;
      break;
    case 3:
      mask.highest = columns - rows;
      break;
    case 4:  // counted from the lower right corner
      mask.lowest = columns - rows - options.pre_tockens;
      mask.highest = columns - rows + options.next_tockens;
      break;
    default:
      break;
  }
  return mask;
}

// An attention as the core computes it: one part, or, for TND, one for each sequence.
struct Problem {
  AttentionLayout layout = AttentionLayout::kBnsd;
  Heads heads;
  std::vector<std::int64_t> query_lengths, key_lengths;  // of the sequences of TND
  std::vector<AttentionInputs> parts;
};

// One score for each head, beside all of its rows.
at::Tensor sink_of(const at::Tensor& sink, std::int64_t heads) {
  if (!sink.defined()) return {};
  TORCH_CHECK(sink.numel() == heads, "sink of shape ", sink.sizes(), " for ", heads, " heads");
  return sink.reshape({1, heads, 1, 1});
}

AttentionInputs inputs_of(const FusionAttention& options, bool ignore_mask, bool varlen,
                          const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  TORCH_CHECK(query.size(3) == key.size(3), "query has head size ", query.size(3), ", key ",
              key.size(3));
  TORCH_CHECK(query.size(0) == key.size(0) && key.size(0) == value.size(0) &&
                  key.size(1) == value.size(1) && key.size(2) == value.size(2),
              "query, key and value do not fit each other: ", query.sizes(), ", ", key.sizes(),
              " and ", value.sizes(), " as (batch, head, sequence, head size)");
  const std::vector<std::int64_t> scores = {query.size(0), query.size(1), query.size(2),
                                            key.size(2)};
  AttentionInputs inputs = {.query = query,
                            .key = key,
                            .value = value,
                            .pse = at::Tensor(),
                            .sink = sink_of(options.sink, query.size(1)),
                            .mask = {},
                            .scale = options.scale};
  if (options.pse.defined() && options.pse.dim() > 0) {
    inputs.pse = over_scores(options.pse, scores, "pse");
  }
  if (!options.atten_mask.defined()) return inputs;  // the vendor's definition: all is computed
  if (ignore_mask) {
    inputs.mask = mode_mask(options, scores[2], scores[3]);
    return inputs;
  }
  at::Tensor mask = options.atten_mask.ne(0);
  if (varlen) {  // the mask is made for the longest sequence
    TORCH_CHECK(mask.dim() == 2 && mask.size(0) >= scores[2] && mask.size(1) >= scores[3],
                "atten_mask of shape ", mask.sizes(), " does not cover a sequence of ", scores[2],
                " rows and ", scores[3], " columns");
    mask = mask.narrow(0, 0, scores[2]).narrow(1, 0, scores[3]);
  }
  inputs.mask.given = over_scores(mask, scores, "atten_mask");
  return inputs;
}

void check_varlen(const FusionAttention& options) {
  TORCH_CHECK(!options.actual_seq_qlen.empty() &&
                  options.actual_seq_qlen.size() == options.actual_seq_kvlen.size(),
              "input_layout TND needs actual_seq_qlen and actual_seq_kvlen of one length, found ",
              options.actual_seq_qlen.size(), " and ", options.actual_seq_kvlen.size());
  TORCH_CHECK(!options.pse.defined() || options.pse.dim() == 0,
              "pse is not supported with input_layout TND");
}

Problem problem_of(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                   const FusionAttention& options) {
  check_sparse_mode(options);
  Problem problem;
  problem.layout = layout_named(options.input_layout);
  problem.heads = heads_of(query, key, problem.layout, options.head_num);
  const bool varlen = problem.layout == AttentionLayout::kTnd;
  if (varlen) {
    check_varlen(options);
    problem.query_lengths = sequence_lengths(options.actual_seq_qlen, query.size(0));
    problem.key_lengths = sequence_lengths(options.actual_seq_kvlen, key.size(0));
  }
  const auto queries =
      split_parts(query, problem.layout, problem.heads.query, problem.query_lengths);
  // Mixed dtypes occur in recordings made under autocast, which would have made them one.
  const auto split_like_key = [&](const at::Tensor& tensor) {
    return split_parts(tensor.to(query.scalar_type()), problem.layout, problem.heads.key,
                       problem.key_lengths);
  };
  const std::vector<at::Tensor> keys = split_like_key(key);
  const std::vector<at::Tensor> values = split_like_key(value);
  const bool causal = options.sparse_mode >= 2 && options.sparse_mode <= 4;
  const bool ignore_mask = causal && is_compressed(options.atten_mask);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    problem.parts.push_back(
        inputs_of(options, ignore_mask, varlen, queries[i], keys[i], values[i]));
  }
  return problem;
}

// Maxima and sums keep the order (batch, head, sequence) in every layout but TND.
at::Tensor statistics(const std::vector<at::Tensor>& parts, AttentionLayout layout,
                      std::int64_t rows, double fill) {
  return join_parts(parts, layout == AttentionLayout::kTnd ? layout : AttentionLayout::kBnsd, rows,
                    fill)
      .repeat_interleave(kStatisticsCopies, -1);
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> npu_fusion_attention(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const FusionAttention& options) {
  const Problem problem = problem_of(query, key, value, options);
  std::vector<at::Tensor> y;
  std::vector<at::Tensor> max;
  std::vector<at::Tensor> sum;
  for (const AttentionInputs& part : problem.parts) {
    const AttentionOutputs outputs = attention(part);
    y.push_back(outputs.y);
    max.push_back(outputs.max);
    sum.push_back(outputs.sum);
  }
  const std::int64_t rows = query.size(0);
  return {join_parts(y, problem.layout, rows, 0),
          statistics(max, problem.layout, rows, -std::numeric_limits<double>::infinity()),
          statistics(sum, problem.layout, rows, 0)};
}

FusionAttentionGradients npu_fusion_attention_grad(const at::Tensor& query, const at::Tensor& key,
                                                   const at::Tensor& value, const at::Tensor& dy,
                                                   const FusionAttention& options) {
  // Inputs may still be watched; nobody differentiates a gradient again.
  const at::NoGradGuard no_grad;
  const Problem problem = problem_of(query, key, value, options);
  const auto grads = split_parts(dy, problem.layout, problem.heads.query, problem.query_lengths);
  std::vector<at::Tensor> dq;
  std::vector<at::Tensor> dk;
  std::vector<at::Tensor> dv;
  at::Tensor dpse;
  at::Tensor dsink;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const AttentionGradients part = attention_backward(problem.parts[i], grads[i]);
    dq.push_back(part.query);
    dk.push_back(part.key);
    dv.push_back(part.value);
    if (part.pse.defined()) dpse = part.pse.reshape(options.pse.sizes());
    if (part.sink.defined()) {
      const at::Tensor of_part = part.sink.reshape(options.sink.sizes());
      dsink = dsink.defined() ? dsink + of_part : of_part;
    }
  }
  return {.query = join_parts(dq, problem.layout, query.size(0), 0),
          .key = join_parts(dk, problem.layout, key.size(0), 0),
          .value = join_parts(dv, problem.layout, key.size(0), 0),
          .pse = dpse,
          .sink = dsink};
}

}  // namespace msprobe::execute::npu
