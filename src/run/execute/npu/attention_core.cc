// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/attention_core.h"

#include <algorithm>
#include <vector>

#include "execute/npu/compute_dtype.h"
#include "libtorch/custom_function.h"

namespace msprobe::execute::npu {

namespace {

struct Range {
  std::int64_t start = 0;
  std::int64_t length = 0;
};

// A part of the scores: some batches, the query heads of some key heads, some query rows, and all
// key columns.
struct Block {
  Range batch, key_heads, rows;
};

// Inner dimensions are cut only as far as `max_scores` asks, outer ones then taken singly.
std::vector<Block> blocks_of(const AttentionInputs& inputs, std::int64_t max_scores) {
  const std::int64_t batches = inputs.query.size(0);
  const std::int64_t key_heads = inputs.key.size(1);
  const std::int64_t rows = inputs.query.size(2);
  if (batches == 0 || key_heads == 0 || rows == 0) return {};
  const std::int64_t row_scores = inputs.query.size(1) / key_heads * inputs.key.size(2);
  const auto fitting = [max_scores](std::int64_t unit, std::int64_t available) {
    return std::clamp<std::int64_t>(max_scores / std::max<std::int64_t>(unit, 1), 1, available);
  };
  const std::int64_t row_step = fitting(row_scores, rows);
  const std::int64_t head_step = fitting(row_scores * rows, key_heads);
  const std::int64_t batch_step = fitting(row_scores * rows * key_heads, batches);

  std::vector<Block> blocks;
  for (std::int64_t b = 0; b < batches; b += batch_step) {
    for (std::int64_t h = 0; h < key_heads; h += head_step) {
      for (std::int64_t r = 0; r < rows; r += row_step) {
        blocks.push_back({.batch = {b, std::min(batch_step, batches - b)},
                          .key_heads = {h, std::min(head_step, key_heads - h)},
                          .rows = {r, std::min(row_step, rows - r)}});
      }
    }
  }
  return blocks;
}

at::Tensor narrowed(const at::Tensor& tensor, std::int64_t dim, const Range& range) {
  return tensor.narrow(dim, range.start, range.length);
}

// A dimension of size one is broadcast, so every block sees all of it.
at::Tensor narrowed_broadcast(const at::Tensor& tensor, std::int64_t dim, const Range& range) {
  return tensor.size(dim) == 1 ? tensor : narrowed(tensor, dim, range);
}

// The inputs as one block sees them. Its products put the query heads that share a key head into
// the rows of one matrix, so keys and values are not repeated and their gradients sum by
// themselves.
class BlockView {
 public:
  BlockView(const AttentionInputs& inputs, const Block& block)
      : block_(block), group_(inputs.query.size(1) / inputs.key.size(1)) {}

  at::Tensor of_query(const at::Tensor& tensor) const {
    return narrowed(narrowed(narrowed(tensor, 0, block_.batch), 1, query_heads()), 2, block_.rows);
  }
  at::Tensor of_key(const at::Tensor& tensor) const {
    return narrowed(narrowed(tensor, 0, block_.batch), 1, block_.key_heads);
  }
  // For what is broadcast over the scores.
  at::Tensor of_scores(const at::Tensor& tensor) const {
    return narrowed_broadcast(
        narrowed_broadcast(narrowed_broadcast(tensor, 0, block_.batch), 1, query_heads()), 2,
        block_.rows);
  }
  // (batch, query head, row, x) to (batch, key head, query head and row, x), and back.
  at::Tensor grouped(const at::Tensor& tensor) const {
    return tensor.reshape({block_.batch.length, block_.key_heads.length,
                           group_ * block_.rows.length, tensor.size(-1)});
  }
  at::Tensor ungrouped(const at::Tensor& tensor) const {
    return tensor.reshape(
        {block_.batch.length, query_heads().length, block_.rows.length, tensor.size(-1)});
  }
  const Range& rows() const { return block_.rows; }

 private:
  Range query_heads() const {
    return {block_.key_heads.start * group_, block_.key_heads.length * group_};
  }

  Block block_;
  std::int64_t group_;
};

// Undefined if the block is not masked at all.
at::Tensor masked_scores(const AttentionInputs& inputs, const BlockView& view) {
  const AttentionMask& mask = inputs.mask;
  at::Tensor masked;
  if (mask.given.defined()) masked = view.of_scores(mask.given);
  const std::int64_t last_row = inputs.query.size(2) - 1;
  const std::int64_t last_column = inputs.key.size(2) - 1;
  if (mask.lowest <= -last_row && mask.highest >= last_column) return masked;

  const auto options = at::TensorOptions(inputs.query.device()).dtype(at::kLong);
  const at::Tensor column = at::arange(last_column + 1, options);
  const at::Tensor row =
      at::arange(view.rows().start, view.rows().start + view.rows().length, options);
  const at::Tensor distance = column.unsqueeze(0) - row.unsqueeze(1);
  const at::Tensor outside = distance.lt(mask.lowest).logical_or_(distance.gt(mask.highest));
  return masked.defined() ? masked.logical_or(outside) : outside;
}

struct Softmax {
  at::Tensor weights, max, sum;  // in float32 at least
  at::Tensor sink_weight;        // undefined if there is no sink
};

// A row always has its sink, so none is empty.
Softmax softmax_with_sink(at::Tensor scores, const at::Tensor& masked, const at::Tensor& sink) {
  if (masked.defined()) {
    scores = scores.masked_fill_(masked, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor max = at::maximum(scores.amax(-1, /*keepdim=*/true), sink);
  scores = scores.sub_(max).exp_();
  const at::Tensor sink_part = (sink - max).exp();
  const at::Tensor sum = scores.sum(-1, /*keepdim=*/true) + sink_part;
  return {.weights = scores.div_(sum), .max = max, .sum = sum, .sink_weight = sink_part / sum};
}

Softmax block_softmax(const AttentionInputs& inputs, const BlockView& view) {
  const at::Tensor query = view.grouped(view.of_query(inputs.query));
  const at::Tensor key = view.of_key(inputs.key);
  at::Tensor scores = widened(view.ungrouped(at::matmul(query, key.transpose(-2, -1))));
  if (inputs.pse.defined()) scores = scores + view.of_scores(inputs.pse);
  scores = scores * inputs.scale;

  const at::Tensor masked = masked_scores(inputs, view);
  if (inputs.sink.defined()) {
    return softmax_with_sink(scores, masked, view.of_scores(inputs.sink).to(scores.scalar_type()));
  }
  if (!masked.defined()) {
    const at::Tensor max = scores.amax(-1, /*keepdim=*/true);
    scores = scores.sub_(max).exp_();
    const at::Tensor sum = scores.sum(-1, /*keepdim=*/true);
    return {.weights = scores.div_(sum), .max = max, .sum = sum, .sink_weight = {}};
  }
  scores = scores.masked_fill_(masked, -std::numeric_limits<double>::infinity());
  const at::Tensor max = scores.amax(-1, /*keepdim=*/true);
  // -inf - -inf and 0 / 0 would be NaN in the rows where nothing is left.
  const at::Tensor empty = masked.all(-1, /*keepdim=*/true);
  scores = scores.sub_(max.masked_fill(empty, 0)).exp_();
  const at::Tensor sum = scores.sum(-1, /*keepdim=*/true);
  return {
      .weights = scores.div_(sum.masked_fill(empty, 1)), .max = max, .sum = sum, .sink_weight = {}};
}

AttentionOutputs forward(const AttentionInputs& inputs, std::int64_t max_scores) {
  const at::Tensor& query = inputs.query;
  const auto options = query.options();
  const auto wide = options.dtype(compute_dtype(query.scalar_type()));
  const std::vector<std::int64_t> rows = {query.size(0), query.size(1), query.size(2)};
  const AttentionOutputs outputs = {
      .y = at::zeros({rows[0], rows[1], rows[2], inputs.value.size(3)}, options),
      .max =
          at::full({rows[0], rows[1], rows[2], 1}, -std::numeric_limits<double>::infinity(), wide),
      .sum = at::zeros({rows[0], rows[1], rows[2], 1}, wide)};
  if (inputs.key.size(2) == 0) return outputs;  // no key: every row is masked

  for (const Block& block : blocks_of(inputs, max_scores)) {
    const BlockView view(inputs, block);
    const Softmax softmax = block_softmax(inputs, view);
    const at::Tensor weights = view.grouped(softmax.weights.to(query.scalar_type()));
    const at::Tensor y = view.ungrouped(at::matmul(weights, view.of_key(inputs.value)));
    view.of_query(outputs.y).copy_(y);
    view.of_query(outputs.max).copy_(softmax.max);
    view.of_query(outputs.sum).copy_(softmax.sum);
  }
  return outputs;
}

// The autograd node: keeps the inputs and computes the scores again in the backward.
class Attention : public torch::autograd::Function<Attention> {
 public:
  using Context = torch::autograd::AutogradContext;
  using Tensors = torch::autograd::variable_list;
  using MaybeTensor = c10::optional<at::Tensor>;

  static Tensors forward(Context* context, const at::Tensor& query, const at::Tensor& key,
                         const at::Tensor& value, const MaybeTensor& pse, const MaybeTensor& sink,
                         const AttentionInputs& inputs, std::int64_t max_scores) {
    context->save_for_backward({query, key, value, pse.has_value() ? *pse : at::Tensor(),
                                inputs.mask.given, sink.has_value() ? *sink : at::Tensor()});
    context->saved_data["lowest"] = inputs.mask.lowest;
    context->saved_data["highest"] = inputs.mask.highest;
    context->saved_data["scale"] = inputs.scale;
    context->saved_data["max_scores"] = max_scores;
    const AttentionOutputs outputs = npu::forward(inputs, max_scores);
    context->mark_non_differentiable({outputs.max, outputs.sum});
    return {outputs.y, outputs.max, outputs.sum};
  }

  static Tensors backward(Context* context, const Tensors& grads) {
    const Tensors saved = context->get_saved_variables();
    const AttentionInputs inputs = {.query = saved[0],
                                    .key = saved[1],
                                    .value = saved[2],
                                    .pse = saved[3],
                                    .sink = saved[5],
                                    .mask = {.given = saved[4],
                                             .lowest = context->saved_data["lowest"].toInt(),
                                             .highest = context->saved_data["highest"].toInt()},
                                    .scale = context->saved_data["scale"].toDouble()};
    AttentionGradients gradients =
        attention_backward(inputs, grads[0], context->saved_data["max_scores"].toInt());
    // One entry for each argument of forward.
    return {gradients.query, gradients.key, gradients.value, gradients.pse,
            gradients.sink,  at::Tensor(),  at::Tensor()};
  }
};

}  // namespace

AttentionOutputs attention(const AttentionInputs& inputs, std::int64_t max_scores) {
  const auto maybe = [](const at::Tensor& tensor) {
    return tensor.defined() ? Attention::MaybeTensor(tensor) : c10::nullopt;
  };
  const auto outputs = Attention::apply(inputs.query, inputs.key, inputs.value, maybe(inputs.pse),
                                        maybe(inputs.sink), inputs, max_scores);
  return {.y = outputs[0], .max = outputs[1], .sum = outputs[2]};
}

AttentionGradients attention_backward(const AttentionInputs& inputs, const at::Tensor& grad_y,
                                      std::int64_t max_scores) {
  const at::ScalarType dtype = inputs.query.scalar_type();
  const auto zeros = [](const at::Tensor& tensor) {
    return at::zeros(tensor.sizes(), tensor.options().dtype(compute_dtype(tensor.scalar_type())));
  };
  AttentionGradients sums = {.query = zeros(inputs.query),
                             .key = zeros(inputs.key),
                             .value = zeros(inputs.value),
                             .pse = inputs.pse.defined() ? zeros(inputs.pse) : at::Tensor(),
                             .sink = inputs.sink.defined() ? zeros(inputs.sink) : at::Tensor()};
  if (inputs.key.size(2) > 0) {
    for (const Block& block : blocks_of(inputs, max_scores)) {
      const BlockView view(inputs, block);
      const Softmax softmax = block_softmax(inputs, view);
      const at::Tensor& weights = softmax.weights;
      const at::Tensor dy = view.grouped(view.of_query(grad_y).to(dtype));
      const at::Tensor value = view.of_key(inputs.value);
      view.of_key(sums.value)
          .add_(at::matmul(view.grouped(weights.to(dtype)).transpose(-2, -1), dy));
      const at::Tensor dp = widened(view.ungrouped(at::matmul(dy, value.transpose(-2, -1))));
      const at::Tensor mean = (dp * weights).sum(-1, /*keepdim=*/true);
      const at::Tensor ds = (dp - mean) * weights * inputs.scale;
      if (inputs.sink.defined()) {
        at::Tensor part = view.of_scores(sums.sink);
        part.sub_((mean * softmax.sink_weight).sum_to_size(part.sizes()));
      }
      if (inputs.pse.defined()) {
        at::Tensor part = view.of_scores(sums.pse);
        part.add_(ds.sum_to_size(part.sizes()));
      }
      const at::Tensor dq_scores = view.grouped(ds.to(dtype));
      const at::Tensor query = view.grouped(view.of_query(inputs.query));
      view.of_query(sums.query)
          .add_(view.ungrouped(at::matmul(dq_scores, view.of_key(inputs.key))));
      view.of_key(sums.key).add_(at::matmul(dq_scores.transpose(-2, -1), query));
    }
  }
  return {.query = sums.query.to(dtype),
          .key = sums.key.to(inputs.key.scalar_type()),
          .value = sums.value.to(inputs.value.scalar_type()),
          .pse = sums.pse.defined() ? sums.pse.to(inputs.pse.scalar_type()) : at::Tensor(),
          .sink = sums.sink.defined() ? sums.sink.to(inputs.sink.scalar_type()) : at::Tensor()};
}

std::tuple<at::Tensor, at::Tensor> npu_attention_update(const std::vector<at::Tensor>& lse,
                                                        const std::vector<at::Tensor>& parts) {
  TORCH_CHECK(!lse.empty() && lse.size() == parts.size(), "npu_attention_update: ", lse.size(),
              " logarithms for ", parts.size(), " parts");
  const at::Tensor of_all = at::logsumexp(widened(at::stack(lse)), 0);
  at::Tensor out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const at::Tensor weight = at::exp(widened(lse[i]) - of_all).unsqueeze(-1);
    const at::Tensor part = widened(parts[i]) * weight;
    out = out.defined() ? out + part : part;
  }
  return {out.to(parts[0].scalar_type()), of_all.to(lse[0].scalar_type())};
}

}  // namespace msprobe::execute::npu
