// SPDX-License-Identifier: Apache-2.0
// The rows of further operators with a gradient: the loss, the choice of experts, and attention on
// chosen keys. Their results that are not unique are judged by the formulas at the end.
#include <limits>

#include <fmt/format.h>

#include "execute/npu/attention.h"
#include "execute/npu/attention_bounds.h"
#include "execute/npu/compute_dtype.h"
#include "execute/npu/formula.h"
#include "execute/npu/gating.h"
#include "execute/npu/losses.h"
#include "execute/npu/npu_operators.h"
#include "execute/npu/sparse_attention.h"

namespace msprobe::execute::npu {
namespace {

// Cross entropy

CrossEntropy cross_entropy_options(const Bound& a) {
  if (a.real("lse_square_scale_for_zloss") != 0) {
    throw BindError("npu_cross_entropy_loss: a z-loss has no benchmark");
  }
  return {.weight = a.tensor_or_undefined("weight"),
          .reduction = a.text("reduction"),
          .ignore_index = a.integer("ignore_index"),
          .label_smoothing = a.real("label_smoothing")};
}

PyValue run_cross_entropy_loss(const Bound& a) {
  const auto [loss, log_prob] =
      npu_cross_entropy_loss(a.tensor("input"), a.tensor("target"), cross_entropy_options(a));
  return {PyList{{loss}, {log_prob}, {dump::None{}}, {dump::None{}}}};
}

PyValue run_cross_entropy_loss_backward(const Bound& a) {
  return {npu_cross_entropy_loss_backward(a.tensor("grad_loss"), a.tensor("log_prob"),
                                          a.tensor("target"), cross_entropy_options(a))};
}

// Of the logarithms, and of the loss they make.
FormulaResults cross_entropy_loss(const Bound& a, Wish wish) {
  const at::Tensor& input = a.tensor("input");
  const CrossEntropy options = cross_entropy_options(a);
  const at::Tensor x = input.detach().to(at::kDouble);
  const auto [loss, log_prob] = npu_cross_entropy_loss(x, a.tensor("target"), options);
  if (!wish.bounds) return {as_is(loss), as_is(log_prob), {}, {}};
  const at::Tensor slack =
      (x.abs() + x.amax(1, /*keepdim=*/true).abs() + log_prob.abs() + 8) * (2 * kOperation);
  // A loss is a weighted mean of logarithms: of their slacks, the same mean.
  const at::Tensor moved = loss_of(-slack, a.tensor("target"), options);
  const at::Tensor loss_slack = moved.abs() + loss.abs() * (64 * kOperation);
  return {as_floats({loss, loss_slack}, input.scalar_type()),
          as_floats({log_prob, slack}, input.scalar_type()),
          {},
          {}};
}

// Choice of experts

Gating gating_options(const Bound& a) {
  if (a.integer("renorm") != 0) throw BindError("npu_moe_gating_top_k: renorm has no benchmark");
  Gating options{.sigmoid = a.integer("norm_type") == 1,
                 .factor = a.real("routed_scaling_factor"),
                 .eps = a.real("eps")};
  if (!a.has("k")) return options;
  refuse(a, "npu_moe_gating_top_k", {"input_ids", "tid2eid"});
  options.k = a.integer("k");
  options.bias = a.tensor_or_undefined("bias");
  options.kept_groups = a.integer("k_group");
  options.groups = a.integer("group_count");
  options.by_two_best = a.integer("group_select_mode") == 1;
  return options;
}

PyValue run_gating_top_k(const Bound& a) {
  const Gating options = gating_options(a);
  const at::Tensor& x = a.tensor("x");
  const GatingScores scores = gating_scores(x, options);
  const at::Tensor experts = chosen_experts(scores.choice, options.k);
  const at::Tensor y = gating_weights(scores.weights, experts, options).to(x.scalar_type());
  PyList results{{y}, {experts.to(at::kInt)}, {dump::None{}}};
  if (a.boolean("out_flag")) results[2] = {scores.weights};
  return {std::move(results)};
}

PyValue run_gating_top_k_backward(const Bound& a) {
  const at::Tensor& grad = a.tensor("grad_y");
  return {gating_backward(a.tensor("x_norm"), grad, a.tensor("expertIdx"), gating_options(a))
              .to(grad.scalar_type())};
}

// How far the scores of a right device may be from the exact ones.
at::Tensor gating_slack(const at::Tensor& weights) { return weights * (16 * kOperation); }

// Whether `chosen` (rows, k) are k different ones of the best: none is left out that is better by
// more than the slack of both.
at::Tensor rows_well_chosen(const at::Tensor& chosen, const at::Tensor& choice,
                            const at::Tensor& slack) {
  const std::int64_t count = choice.size(-1);
  const at::Tensor inside = chosen.ge(0).logical_and(chosen.lt(count)).all(-1);
  const at::Tensor safe = chosen.clamp(0, count - 1);
  const at::Tensor taken = at::zeros_like(choice, choice.options().dtype(at::kLong))
                               .scatter_add(-1, safe, at::ones_like(safe));
  const double infinity = std::numeric_limits<double>::infinity();
  const at::Tensor most = (choice + slack).masked_fill(taken.eq(0), infinity).amin(-1);
  const at::Tensor left_out = (choice - slack).masked_fill(taken.gt(0), -infinity).amax(-1);
  return inside.logical_and(taken.amax(-1).le(1)).logical_and(most.ge(left_out));
}

// The device's own choice where it is a right one, else the benchmark's.
at::Tensor choice_to_judge(const at::Tensor& bench, const at::Tensor& choice,
                           const at::Tensor& slack, Wish wish, std::size_t output) {
  if (wish.device == nullptr || output >= wish.device->size()) return bench;
  const at::Tensor& device = (*wish.device)[output];
  if (!device.defined() || device.sizes() != bench.sizes()) return bench;
  const at::Tensor chosen = device.to(at::kLong);
  return at::where(rows_well_chosen(chosen, choice, slack).unsqueeze(-1), chosen, bench);
}

FormulaResults gating_top_k(const Bound& a, Wish wish) {
  Gating options = gating_options(a);
  const at::Tensor& x = a.tensor("x");
  const GatingScores scores = gating_scores(x.detach().to(at::kDouble), options);
  const at::Tensor experts = choice_to_judge(chosen_experts(scores.choice, options.k),
                                             scores.choice, gating_slack(scores.weights), wish, 1);
  const Bounded y = exact(gating_weights(scores.weights, experts, options), wish.bounds);
  FormulaResults results{
      as_floats(loosened(y, 32 * kOperation), x.scalar_type()), as_is(experts.to(at::kInt)), {}};
  if (a.boolean("out_flag")) {
    results[2] =
        as_floats(loosened(exact(scores.weights, wish.bounds), 16 * kOperation), at::kFloat);
  }
  return results;
}

// Attention on chosen keys

std::vector<std::int64_t> integers_of(const Bound& a, std::string_view name) {
  if (a.is_none(name)) return {};
  const at::Tensor plain = a.tensor(name).to(at::kCPU, at::kLong).contiguous();
  const auto* data = plain.data_ptr<std::int64_t>();
  return {data, data + plain.numel()};
}

SparseLayout sparse_layout(const Bound& a, std::string_view key_layout,
                           std::string_view key_lengths) {
  const std::int64_t mode = a.integer("sparse_mode");
  if (mode != 0 && mode != 3) throw BindError(fmt::format("sparse_mode {} has no benchmark", mode));
  return {.query = a.text("layout_query"),
          .key = a.text(key_layout),
          .query_lengths = integers_of(a, "actual_seq_lengths_query"),
          .key_lengths = integers_of(a, key_lengths),
          .block_table = a.tensor_or_undefined("block_table"),
          .causal = mode == 3};
}

// The rows of all parts in the layout of the query, zeros where no part is.
at::Tensor rows_together(const std::vector<at::Tensor>& parts, const std::vector<SparsePart>& where,
                         const at::Tensor& query, bool packed) {
  const at::Tensor& like = parts.at(0);
  std::vector<std::int64_t> shape(query.sizes().begin(), query.sizes().end() - 2);
  shape.insert(shape.end(), like.sizes().begin() + 1, like.sizes().end());
  at::Tensor all = at::zeros(shape, like.options());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    rows_of_part(all, where[i], packed).copy_(parts[i]);
  }
  return all;
}

struct SparseProblem {
  std::vector<SparsePart> parts;
  std::vector<AttentionInputs> inputs;
  bool packed = false;
};

SparseProblem sparse_problem(const Bound& a, bool exactly) {
  const auto taken = [&](const at::Tensor& part) {
    return part.defined() && exactly ? part.detach().to(at::kDouble) : part;
  };
  const SparseLayout layout = sparse_layout(a, "layout_kv", "actual_seq_lengths_kv");
  // A cache may be as large as memory: only what the sequences have of it is made wider.
  const auto parts_of = [&](std::string_view query, std::string_view key) {
    std::vector<SparsePart> parts = sparse_parts(a.tensor(query), a.tensor(key), layout);
    for (SparsePart& part : parts) {
      part.query = taken(part.query);
      part.key = taken(part.key);
    }
    return parts;
  };
  SparseProblem problem{parts_of("query", "key"), {}, layout.query == "TND"};
  const std::vector<SparsePart> values =
      a.is_none("value") ? problem.parts : parts_of("query", "value");
  if (!a.is_none("query_rope")) {
    const std::vector<SparsePart> ropes = parts_of("query_rope", "key_rope");
    for (std::size_t i = 0; i < ropes.size(); ++i) {
      problem.parts[i].query = at::cat({problem.parts[i].query, ropes[i].query}, -1);
      problem.parts[i].key = at::cat({problem.parts[i].key, ropes[i].key}, -1);
    }
  }
  for (std::size_t i = 0; i < problem.parts.size(); ++i) {
    const SparsePart& part = problem.parts[i];
    const at::Tensor chosen = rows_of_part(a.tensor("sparse_indices"), part, problem.packed);
    const at::Tensor masked = masked_but_chosen(chosen.select(1, 0), a.integer("sparse_block_size"),
                                                part.keys, layout.causal);
    problem.inputs.push_back({.query = part.query,
                              .key = part.key,
                              .value = values[i].key,
                              .pse = {},
                              .sink = a.is_none("sinks")
                                          ? at::Tensor()
                                          : taken(a.tensor("sinks")).reshape({1, -1, 1, 1}),
                              .mask = {.given = masked.unsqueeze(0).unsqueeze(0)},
                              .scale = a.real("scale_value")});
  }
  return problem;
}

at::Tensor as_query_rows(const at::Tensor& heads) { return heads.squeeze(0).transpose(0, 1); }

PyValue run_sparse_flash_attention(const Bound& a) {
  const SparseProblem problem = sparse_problem(a, false);
  std::vector<at::Tensor> y;
  for (const AttentionInputs& inputs : problem.inputs) {
    y.push_back(as_query_rows(attention(inputs).y));
  }
  return {PyList{{rows_together(y, problem.parts, a.tensor("query"), problem.packed)},
                 {dump::None{}},
                 {dump::None{}}}};
}

FormulaResults sparse_flash_attention(const Bound& a, Wish wish) {
  const SparseProblem problem = sparse_problem(a, true);
  const at::ScalarType type = a.tensor("query").scalar_type();
  const double unit = type == at::kHalf       ? 1.0 / (1 << 11)
                      : type == at::kBFloat16 ? 1.0 / (1 << 8)
                                              : 0;
  std::vector<at::Tensor> values;
  std::vector<at::Tensor> slacks;
  for (const AttentionInputs& inputs : problem.inputs) {
    const Bounded y = bounded_attention(inputs, unit).y;
    values.push_back(as_query_rows(y.value));
    slacks.push_back(as_query_rows(y.slack));
  }
  const auto together = [&](const std::vector<at::Tensor>& parts) {
    return rows_together(parts, problem.parts, a.tensor("query"), problem.packed);
  };
  return {
      as_floats({together(values), wish.bounds ? together(slacks) : at::Tensor()}, type), {}, {}};
}

// Rows of no sequence, and rows that see no key.
std::vector<at::Tensor> sparse_flash_written(const Bound& a) {
  const SparseProblem problem = sparse_problem(a, true);
  std::vector<at::Tensor> masks;
  for (const AttentionInputs& inputs : problem.inputs) {
    const at::Tensor seen = inputs.mask.given[0][0].all(-1).logical_not();
    masks.push_back(seen.view({-1, 1, 1}));
  }
  return {rows_together(masks, problem.parts, a.tensor("query"), problem.packed), {}, {}};
}

// Scores of the keys

struct Indexer {
  std::vector<SparsePart> parts;
  std::vector<at::Tensor> scores;  // (rows, keys), -inf where a key is not seen
  std::vector<at::Tensor> slacks;
  bool packed = false;
};

Indexer indexer_of(const Bound& a, bool exactly) {
  const auto taken = [&](const at::Tensor& tensor) {
    return exactly ? tensor.detach().to(at::kDouble) : widened(tensor);
  };
  const SparseLayout layout = sparse_layout(a, "layout_key", "actual_seq_lengths_key");
  const at::Tensor weights = taken(a.tensor("weights"));
  Indexer found{
      sparse_parts(a.tensor("query"), a.tensor("key"), layout), {}, {}, layout.query == "TND"};
  for (SparsePart& part : found.parts) {
    part.query = taken(part.query);
    part.key = taken(part.key);
    const std::int64_t rows = part.query.size(2);
    const at::Tensor of_rows =
        found.packed ? weights.narrow(0, part.first, rows) : weights[part.batch].narrow(0, 0, rows);
    const at::Tensor scores = indexer_scores(part.query, part.key, of_rows);
    if (exactly) {
      const at::Tensor sizes = indexer_scores(part.query.abs(), part.key.abs(), of_rows.abs());
      found.slacks.push_back(sizes * (64 * kOperation));
    }
    at::Tensor masked = at::zeros({rows, part.keys}, at::kBool);
    if (layout.causal) {
      const at::Tensor offset = at::arange(part.keys).unsqueeze(0) - at::arange(rows).unsqueeze(1);
      masked = offset.gt(part.keys - rows);
    }
    found.scores.push_back(scores.masked_fill(masked, -std::numeric_limits<double>::infinity()));
  }
  return found;
}

// The best keys of each row, and -1 where there are fewer.
at::Tensor best_keys(const at::Tensor& scores, std::int64_t count) {
  const std::int64_t some = std::min(count, scores.size(1));
  const auto [sorted, order] = at::sort(scores.detach(), /*stable=*/true, -1, /*descending=*/true);
  const at::Tensor masked = sorted.eq(-std::numeric_limits<double>::infinity());
  const at::Tensor best = order.masked_fill(masked, -1).narrow(1, 0, some);
  return at::constant_pad_nd(best, {0, count - some}, -1);
}

at::Tensor scores_at(const at::Tensor& scores, const at::Tensor& keys) {
  return scores.gather(1, keys.clamp_min(0)).masked_fill(keys.lt(0), 0);
}

PyValue run_lightning_indexer(const Bound& a) {
  const Indexer indexer = indexer_of(a, false);
  std::vector<at::Tensor> keys;
  std::vector<at::Tensor> values;
  for (const at::Tensor& scores : indexer.scores) {
    const at::Tensor best = best_keys(scores, a.integer("sparse_count"));
    keys.push_back(best.unsqueeze(1).to(at::kInt));
    values.push_back(scores_at(scores, best).unsqueeze(1).to(a.tensor("query").scalar_type()));
  }
  const auto together = [&](const std::vector<at::Tensor>& parts) {
    return rows_together(parts, indexer.parts, a.tensor("query"), indexer.packed);
  };
  PyList results{{together(keys)}, {dump::None{}}};
  if (a.boolean("return_value")) results[1] = {together(values)};
  return {std::move(results)};
}

// A device may choose otherwise where scores are next to each other, and in any order.
at::Tensor keys_to_judge(const at::Tensor& bench, const at::Tensor& device,
                         const at::Tensor& scores, const at::Tensor& slack) {
  const std::int64_t keys = scores.size(1);
  // Behind the keys that a row sees nothing is defined.
  const at::Tensor seen =
      scores.gt(-std::numeric_limits<double>::infinity()).sum(-1, /*keepdim=*/true);
  const at::Tensor beyond = at::arange(bench.size(1)).unsqueeze(0).ge(seen);
  const at::Tensor chosen = device.to(at::kLong).masked_fill(beyond, -1);
  const at::Tensor none = chosen.lt(0);
  const at::Tensor same_count = none.sum(-1).eq(bench.lt(0).sum(-1));
  const at::Tensor padded_scores =
      at::constant_pad_nd(scores, {0, 1}, std::numeric_limits<double>::infinity());
  const at::Tensor padded_slack = at::constant_pad_nd(slack, {0, 1});
  // Entries of -1 may be several: the first of them stands for all.
  const at::Tensor column = chosen.masked_fill(none, keys).clamp_max(keys);
  const at::Tensor taken = at::zeros_like(padded_scores, scores.options().dtype(at::kLong))
                               .scatter_add(1, column, at::ones_like(column));
  const double infinity = std::numeric_limits<double>::infinity();
  const at::Tensor most =
      (padded_scores + padded_slack).masked_fill(taken.eq(0), infinity).amin(-1);
  const at::Tensor left_out = (padded_scores - padded_slack)
                                  .narrow(1, 0, keys)
                                  .masked_fill(taken.narrow(1, 0, keys).gt(0), -infinity)
                                  .amax(-1);
  const at::Tensor right = same_count.logical_and(taken.narrow(1, 0, keys).amax(-1).le(1))
                               .logical_and(most.ge(left_out))
                               .logical_and(most.gt(-infinity))
                               .logical_and(chosen.lt(keys).all(-1));
  return at::where(right.unsqueeze(-1), chosen, bench);
}

FormulaResults lightning_indexer(const Bound& a, Wish wish) {
  const Indexer indexer = indexer_of(a, true);
  const bool has_device =
      wish.device != nullptr && !wish.device->empty() && (*wish.device)[0].defined();
  std::vector<at::Tensor> keys, lowest, highest, values;
  for (std::size_t i = 0; i < indexer.scores.size(); ++i) {
    const at::Tensor& scores = indexer.scores[i];
    at::Tensor best = best_keys(scores, a.integer("sparse_count"));
    if (has_device) {
      const at::Tensor theirs =
          rows_of_part((*wish.device)[0], indexer.parts[i], indexer.packed).squeeze(1);
      if (theirs.sizes() == best.sizes()) {
        best = keys_to_judge(best, theirs, scores, indexer.slacks[i]);
      }
    }
    const at::Tensor slack = scores_at(indexer.slacks[i], best);
    const at::Tensor value = scores_at(scores, best);
    keys.push_back(best.unsqueeze(1).to(at::kInt));
    values.push_back(value.unsqueeze(1));
    lowest.push_back(slack.unsqueeze(1));
  }
  const auto together = [&](const std::vector<at::Tensor>& parts) {
    return rows_together(parts, indexer.parts, a.tensor("query"), indexer.packed);
  };
  FormulaResults results{as_is(together(keys)), {}};
  if (a.boolean("return_value")) {
    results[1] = as_floats({together(values), wish.bounds ? together(lowest) : at::Tensor()},
                           a.tensor("query").scalar_type());
  }
  return results;
}

// Where a row sees fewer keys than are asked for, the rest is open; rows of no sequence as well.
std::vector<at::Tensor> lightning_indexer_written(const Bound& a) {
  const Indexer indexer = indexer_of(a, true);
  const std::int64_t count = a.integer("sparse_count");
  std::vector<at::Tensor> masks;
  for (const at::Tensor& scores : indexer.scores) {
    const at::Tensor seen = scores.gt(-std::numeric_limits<double>::infinity()).sum(-1, true);
    const at::Tensor place = at::arange(count).unsqueeze(0);
    const bool fewer_keys = scores.size(1) < count;
    const at::Tensor beyond = place.ge(scores.size(1));
    at::Tensor mask = place.lt(seen);
    if (fewer_keys) mask = mask.logical_or(beyond);
    masks.push_back(mask.unsqueeze(1));
  }
  const at::Tensor all = rows_together(masks, indexer.parts, a.tensor("query"), indexer.packed);
  return {all, all};
}

// Attention of training, second version

at::Tensor with_rope(const Bound& a, std::string_view name, std::string_view rope,
                     std::int64_t heads) {
  const at::Tensor& tensor = a.tensor(name);
  if (a.is_none(rope)) return tensor;
  const at::Tensor& more = a.tensor(rope);
  const std::string& layout = a.text("input_layout");
  if (layout != "BSH" && layout != "SBH") return at::cat({tensor, more}, -1);
  return at::cat({tensor.unflatten(2, {heads, -1}), more.unflatten(2, {heads, -1})}, -1).flatten(2);
}

struct FusionAttentionCall {
  at::Tensor query, key;
  FusionAttention options;
};

FusionAttentionCall fusion_attention_call(const Bound& a, std::string_view scale) {
  const std::int64_t pse_type = a.integer("pse_type");
  if (pse_type > 1) {
    throw BindError(fmt::format("npu_fusion_attention_v2: pse_type {} has no benchmark", pse_type));
  }
  const std::int64_t heads = a.integer("head_num");
  const std::int64_t width = a.tensor("query").size(-1);
  const std::int64_t key_heads = std::max<std::int64_t>(
      1, heads * a.tensor("key").size(-1) / std::max<std::int64_t>(width, 1));
  const auto integers = [&](std::string_view name) {
    return a.opt_integers(name).value_or(std::vector<std::int64_t>());
  };
  FusionAttentionCall found{with_rope(a, "query", "query_rope", heads),
                            with_rope(a, "key", "key_rope", key_heads),
                            {.head_num = heads,
                             .input_layout = a.text("input_layout"),
                             .pse = a.tensor_or_undefined("pse"),
                             .atten_mask = a.tensor_or_undefined("atten_mask"),
                             .sink = a.has("sink") ? a.tensor_or_undefined("sink") : at::Tensor(),
                             .scale = a.real(scale),
                             .pre_tockens = a.integer("pre_tokens"),
                             .next_tockens = a.integer("next_tokens"),
                             .actual_seq_qlen = integers("actual_seq_qlen"),
                             .actual_seq_kvlen = integers("actual_seq_kvlen"),
                             .sparse_mode = a.integer("sparse_mode")}};
  // The core adds pse before it scales; type 0 adds it behind.
  if (pse_type == 0 && found.options.pse.defined()) {
    found.options.pse = widened(found.options.pse) / found.options.scale;
  }
  return found;
}

PyValue run_fusion_attention_v2(const Bound& a) {
  const FusionAttentionCall call = fusion_attention_call(a, "scale");
  const auto [y, max, sum] =
      npu_fusion_attention(call.query, call.key, a.tensor("value"), call.options);
  return {PyList{{y},
                 {max},
                 {sum},
                 {at::empty({0}, y.options())},
                 {std::int64_t{0}},
                 {std::int64_t{0}},
                 {std::int64_t{0}}}};
}

constexpr ApiRow kTrainingRows[] = {
    {"Aten.npu_cross_entropy_loss_backward",
     "grad_loss, log_prob, target, weight=None, grad_zloss=None, lse_for_zloss=None, "
     "reduction='mean', ignore_index=-100, label_smoothing=0.0, "
     "lse_square_scale_for_zloss=0.0",
     &run_cross_entropy_loss_backward},
    {"Aten.npu_moe_gating_top_k_backward",
     "x_norm, grad_y, expertIdx, *, renorm=0, norm_type=0, routed_scaling_factor=1.0, "
     "eps=1e-20",
     &run_gating_top_k_backward},
    {"NPU.npu_cross_entropy_loss",
     "input, target, weight=None, reduction='mean', ignore_index=-100, "
     "label_smoothing=0.0, lse_square_scale_for_zloss=0.0, return_zloss=False",
     &run_cross_entropy_loss},
    {"NPU.npu_fusion_attention_v2",
     "query, key, value, head_num, input_layout, *, pse=None, padding_mask=None, "
     "atten_mask=None, query_rope=None, key_rope=None, scale=1.0, keep_prob=1.0, "
     "pre_tokens=2147483647, next_tokens=2147483647, inner_precise=0, prefix=None, "
     "actual_seq_qlen=None, actual_seq_kvlen=None, sparse_mode=0, gen_mask_parallel=True, "
     "sync=False, pse_type=1, q_start_idx=None, kv_start_idx=None, softmax_layout='', "
     "sink=None, dropout_mask=None, seed=0, offset=0",
     &run_fusion_attention_v2},
    {"NPU.npu_lightning_indexer",
     "query, key, weights, *, actual_seq_lengths_query=None, actual_seq_lengths_key=None, "
     "block_table=None, layout_query='BSND', layout_key='BSND', sparse_count=2048, "
     "sparse_mode=3, pre_tokens=9223372036854775807, next_tokens=9223372036854775807, "
     "return_value=False",
     &run_lightning_indexer},
    {"NPU.npu_moe_gating_top_k",
     "x, k, *, bias=None, input_ids=None, tid2eid=None, k_group=1, group_count=1, "
     "group_select_mode=0, renorm=0, norm_type=0, out_flag=False, "
     "routed_scaling_factor=1.0, eps=1e-20",
     &run_gating_top_k},
    {"NPU.npu_sparse_flash_attention",
     "query, key, value, sparse_indices, scale_value, *, block_table=None, "
     "actual_seq_lengths_query=None, actual_seq_lengths_kv=None, query_rope=None, "
     "key_rope=None, sparse_block_size=1, layout_query='BSND', layout_kv='BSND', "
     "sparse_mode=3, pre_tokens=9223372036854775807, next_tokens=9223372036854775807, "
     "attention_mode=0, return_softmax_lse=False, sinks=None",
     &run_sparse_flash_attention},
};

constexpr FormulaRow kFormulas[] = {
    {.api = "NPU.npu_cross_entropy_loss",
     .signature = kTrainingRows[2].signature,
     .formula = &cross_entropy_loss,
     .judges_only = true},
    {.api = "NPU.npu_lightning_indexer",
     .signature = kTrainingRows[4].signature,
     .formula = &lightning_indexer,
     .written = &lightning_indexer_written,
     .judges_only = true},
    {.api = "NPU.npu_moe_gating_top_k",
     .signature = kTrainingRows[5].signature,
     .formula = &gating_top_k,
     .judges_only = true},
    {.api = "NPU.npu_sparse_flash_attention",
     .signature = kTrainingRows[6].signature,
     .formula = &sparse_flash_attention,
     .written = &sparse_flash_written,
     .judges_only = true},
};

}  // namespace

std::span<const ApiRow> training_operators() { return kTrainingRows; }
std::span<const FormulaRow> training_formulas() { return kFormulas; }

}  // namespace msprobe::execute::npu
