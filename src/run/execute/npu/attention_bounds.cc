// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/attention_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace msprobe::execute::npu {
namespace {

// Roundings of single weights are independent: so many root sums of squares bound their sum.
constexpr double kIndependent = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor part_of(const at::Tensor& over_scores, std::int64_t head, std::int64_t first,
                   std::int64_t count) {
  at::Tensor part = over_scores;
  if (part.size(1) > 1) part = part.narrow(1, head, 1);
  return part.size(2) > 1 ? part.narrow(2, first, count) : part;
}

// HeadRows [first, first + count) of one head, for all batches.
struct HeadRows {
  const AttentionInputs& inputs;
  std::int64_t head, first, count;

  at::Tensor masked() const {
    const std::int64_t keys = inputs.key.size(2);
    const auto options = inputs.key.options().dtype(at::kLong);
    constexpr std::int64_t kFar = std::int64_t{1} << 40;
    const at::Tensor offset = at::arange(keys, options).unsqueeze(0) -
                              at::arange(first, first + count, options).unsqueeze(1);
    const at::Tensor outside = offset.lt(std::max(inputs.mask.lowest, -kFar))
                                   .logical_or(offset.gt(std::min(inputs.mask.highest, kFar)));
    if (!inputs.mask.given.defined()) return outside;
    return part_of(inputs.mask.given, head, first, count).logical_or(outside);
  }
};

struct RowResult {
  at::Tensor y, y_slack, lse, lse_slack;
};

RowResult rows_of(const HeadRows& rows, double weights_unit, double scores_unit) {
  const AttentionInputs& in = rows.inputs;
  const std::int64_t of_key = rows.head / (in.query.size(1) / in.key.size(1));
  const at::Tensor query = in.query.narrow(1, rows.head, 1).narrow(2, rows.first, rows.count);
  const at::Tensor key = in.key.narrow(1, of_key, 1).transpose(-2, -1);
  const at::Tensor value = in.value.narrow(1, of_key, 1);
  at::Tensor scores = at::matmul(query, key);
  at::Tensor slack = at::matmul(query.abs(), key.abs()) * summed_units(query.size(-1));
  if (in.pse.defined()) scores = scores + part_of(in.pse, rows.head, rows.first, rows.count);
  scores = scores * in.scale;
  slack = slack * std::abs(in.scale) + scores.abs() * (kOperation + scores_unit);
  const at::Tensor masked = rows.masked();
  scores = scores.masked_fill(masked, -kInfinity);
  slack = slack.masked_fill(masked, 0);
  at::Tensor max = scores.amax(-1, /*keepdim=*/true);
  const at::Tensor sink =
      in.sink.defined() ? part_of(in.sink, rows.head, 0, 1).to(at::kDouble) : at::Tensor();
  if (sink.defined()) max = at::maximum(max, sink);
  const at::Tensor empty = max.eq(-kInfinity);
  const at::Tensor from_max = scores - max.masked_fill(empty, 0);
  at::Tensor weights = from_max.exp();
  at::Tensor sum = weights.sum(-1, /*keepdim=*/true);
  if (sink.defined()) sum = sum + (sink - max).exp();
  weights = weights / sum.masked_fill(empty, 1);
  // An exponential errs with the size of its argument.
  slack = slack + (from_max.abs().clamp_max(90).masked_fill(masked, 0) + 4) * kOperation;
  RowResult result{
      .y = at::matmul(weights, value), .y_slack = {}, .lse = max + sum.log(), .lse_slack = {}};
  const at::Tensor moved = weights * slack;
  const at::Tensor sizes = at::matmul(weights, value.abs());
  const at::Tensor roundings =
      at::minimum(sizes, at::matmul(weights.square(), value.square()).sqrt() * kIndependent) *
      weights_unit;
  const at::Tensor all = moved.sum(-1, /*keepdim=*/true);
  result.y_slack = at::matmul(moved, value.abs()) + all * result.y.abs() + roundings +
                   sizes * (summed_units(weights.size(-1)) + 2 * kOperation);
  result.lse_slack = all + (result.lse.abs() + 4) * kOperation + summed_units(weights.size(-1));
  result.lse = result.lse.masked_fill(empty, 0);
  result.lse_slack = result.lse_slack.masked_fill(empty, 0);
  return result;
}

}  // namespace

BoundedAttention bounded_attention(const AttentionInputs& inputs, double weights_unit,
                                   double scores_unit) {
  const std::int64_t heads = inputs.query.size(1);
  const std::int64_t count = inputs.query.size(2);
  const std::int64_t keys = inputs.key.size(2);
  const auto options = inputs.query.options();
  const std::int64_t batches = inputs.query.size(0);
  const auto empty = [&](std::int64_t width) {
    return at::zeros({batches, heads, count, width}, options);
  };
  const std::int64_t width = inputs.value.size(3);
  BoundedAttention found{{empty(width), empty(width)}, {empty(1), empty(1)}};
  if (keys == 0) return found;
  const std::int64_t step = std::max<std::int64_t>(1, kMaxScores / (batches * keys));
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t first = 0; first < count; first += step) {
      const HeadRows rows{inputs, head, first, std::min(step, count - first)};
      const RowResult result = rows_of(rows, weights_unit, scores_unit);
      const auto put = [&](const at::Tensor& all, const at::Tensor& part) {
        all.narrow(1, head, 1).narrow(2, first, rows.count).copy_(part);
      };
      put(found.y.value, result.y);
      put(found.y.slack, result.y_slack);
      put(found.lse.value, result.lse);
      put(found.lse.slack, result.lse_slack);
    }
  }
  return found;
}

}  // namespace msprobe::execute::npu
