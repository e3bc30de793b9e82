// SPDX-License-Identifier: Apache-2.0
// Multi-head attention as torch.nn.functional composes it.
#include <cmath>
#include <limits>

#include "execute/api.h"

namespace msprobe::execute {
namespace {

struct Projected {
  at::Tensor q, k, v;
};

at::Tensor rows(const at::Tensor& tensor, std::int64_t from, std::int64_t count) {
  return tensor.narrow(0, from, count);
}

c10::optional<at::Tensor> rows(const c10::optional<at::Tensor>& tensor, std::int64_t from,
                               std::int64_t count) {
  return tensor ? c10::optional<at::Tensor>(rows(*tensor, from, count)) : c10::nullopt;
}

Projected project_packed(const Bound& a, const at::Tensor& q, const at::Tensor& k,
                         const at::Tensor& v) {
  const at::Tensor& weight = a.tensor("in_proj_weight");
  const c10::optional<at::Tensor> bias = a.opt_tensor("in_proj_bias");
  const std::int64_t width = q.size(-1);
  // Python asks whether they are one object; a dump does not tell, and the sums are the same.
  return {at::linear(q, rows(weight, 0, width), rows(bias, 0, width)),
          at::linear(k, rows(weight, width, width), rows(bias, width, width)),
          at::linear(v, rows(weight, 2 * width, width), rows(bias, 2 * width, width))};
}

Projected project_apart(const Bound& a, const at::Tensor& q, const at::Tensor& k,
                        const at::Tensor& v) {
  const c10::optional<at::Tensor> bias = a.opt_tensor("in_proj_bias");
  const std::int64_t width = q.size(-1);
  return {at::linear(q, a.tensor("q_proj_weight"), rows(bias, 0, width)),
          at::linear(k, a.tensor("k_proj_weight"), rows(bias, width, width)),
          at::linear(v, a.tensor("v_proj_weight"), rows(bias, 2 * width, width))};
}

// A truth mask becomes one of 0 and -inf, to be added.
c10::optional<at::Tensor> additive(const c10::optional<at::Tensor>& mask, at::ScalarType type) {
  if (!mask || mask->is_floating_point()) return mask;
  return at::zeros_like(*mask, mask->options().dtype(type))
      .masked_fill_(*mask, -std::numeric_limits<double>::infinity());
}

void pad_last(c10::optional<at::Tensor>& mask) {
  if (mask) mask = at::constant_pad_nd(*mask, {0, 1});
}

// The way of one call; the steps are Python's, in its order.
class Attention {
 public:
  explicit Attention(const Bound& a)
      : a_(a), batched_(a.tensor("query").dim() == 3), heads_(a.integer("num_heads")) {}

  PyValue run() {
    load();
    project();
    append_bias();
    split_heads();
    append_zero();
    merge_masks();
    return a_.boolean("need_weights") ? with_weights() : without_weights();
  }

 private:
  at::Tensor batch(std::string_view name) const {
    const at::Tensor& tensor = a_.tensor(name);
    return batched_ ? tensor : tensor.unsqueeze(1);
  }

  void load() {
    query_ = batch("query");
    target_ = query_.size(0);
    batch_ = query_.size(1);
    width_ = query_.size(2);
    if (width_ % heads_ != 0) throw BindError("embed_dim not divisible by num_heads");
    padding_ = a_.opt_tensor("key_padding_mask");
    if (padding_ && !batched_) padding_ = padding_->unsqueeze(0);
    padding_ = additive(padding_, query_.scalar_type());
    causal_ = a_.boolean("is_causal");
    if (causal_ && !padding_ && !a_.boolean("need_weights")) return;
    mask_ = additive(a_.opt_tensor("attn_mask"), query_.scalar_type());
    if (padding_) causal_ = false;
    if (mask_ && mask_->dim() == 2) mask_ = mask_->unsqueeze(0);
  }

  void project() {
    const at::Tensor key = batch("key");
    const at::Tensor value = batch("value");
    states_ = a_.boolean("use_separate_proj_weight") ? project_apart(a_, query_, key, value)
                                                     : project_packed(a_, query_, key, value);
  }

  void append_bias() {
    if (a_.is_none("bias_k") || a_.is_none("bias_v")) return;
    states_.k = at::cat({states_.k, a_.tensor("bias_k").repeat({1, batch_, 1})});
    states_.v = at::cat({states_.v, a_.tensor("bias_v").repeat({1, batch_, 1})});
    pad_last(mask_);
    pad_last(padding_);
  }

  at::Tensor by_head(const at::Tensor& state) const {
    return state.view({state.size(0), batch_ * heads_, width_ / heads_}).transpose(0, 1);
  }

  void split_heads() {
    states_.q = by_head(states_.q);
    states_.k = a_.is_none("static_k") ? by_head(states_.k) : a_.tensor("static_k");
    states_.v = a_.is_none("static_v") ? by_head(states_.v) : a_.tensor("static_v");
  }

  void append_zero() {
    if (!a_.boolean("add_zero_attn")) return;
    const at::Tensor zero = at::zeros({batch_ * heads_, 1, width_ / heads_}, states_.k.options());
    states_.k = at::cat({states_.k, zero}, 1);
    states_.v = at::cat({states_.v, zero}, 1);
    pad_last(mask_);
    pad_last(padding_);
  }

  void merge_masks() {
    if (!padding_) return;
    const std::int64_t source = states_.k.size(1);
    const at::Tensor padding = padding_->view({batch_, 1, 1, source})
                                   .expand({-1, heads_, -1, -1})
                                   .reshape({batch_ * heads_, 1, source});
    mask_ = mask_ ? *mask_ + padding : padding;
  }

  double dropout() const { return a_.boolean("training") ? a_.real("dropout_p") : 0; }

  at::Tensor joined(const at::Tensor& output) const {
    const at::Tensor flat =
        at::linear(output, a_.tensor("out_proj_weight"), a_.opt_tensor("out_proj_bias"));
    const at::Tensor result = flat.view({target_, batch_, flat.size(1)});
    return batched_ ? result : result.squeeze(1);
  }

  PyValue with_weights() {
    const at::Tensor scaled = states_.q * std::sqrt(1.0 / static_cast<double>(states_.q.size(2)));
    const at::Tensor turned = states_.k.transpose(-2, -1);
    at::Tensor weights = mask_ ? at::baddbmm(*mask_, scaled, turned) : at::bmm(scaled, turned);
    weights = weights.softmax(-1);
    if (dropout() > 0) weights = at::dropout(weights, dropout(), true);
    const at::Tensor output =
        at::bmm(weights, states_.v).transpose(0, 1).reshape({target_ * batch_, width_});
    at::Tensor shown = weights.view({batch_, heads_, target_, states_.k.size(1)});
    if (a_.boolean("average_attn_weights")) shown = shown.mean(1);
    return tuple_of({joined(output), batched_ ? shown : shown.squeeze(0)});
  }

  PyValue without_weights() {
    const std::int64_t source = states_.k.size(1);
    if (mask_) {
      const bool shared = mask_->size(0) == 1 && mask_->dim() == 3;
      mask_ = shared ? mask_->unsqueeze(0) : mask_->view({batch_, heads_, -1, source});
    }
    const std::int64_t depth = width_ / heads_;
    const PyValue mask = mask_ ? PyValue{*mask_} : PyValue{dump::None{}};
    const PyValue attended = call_aten("scaled_dot_product_attention",
                                       {{{states_.q.view({batch_, heads_, target_, depth})},
                                         {states_.k.view({batch_, heads_, source, depth})},
                                         {states_.v.view({batch_, heads_, source, depth})},
                                         mask,
                                         {dropout()},
                                         {causal_}}});
    const at::Tensor output =
        attended.as<at::Tensor>()->permute({2, 0, 1, 3}).reshape({batch_ * target_, width_});
    return {PyList{{joined(output)}, {dump::None{}}}};
  }

  const Bound& a_;
  bool batched_;
  bool causal_ = false;
  std::int64_t heads_;
  std::int64_t target_ = 0, batch_ = 0, width_ = 0;
  at::Tensor query_;
  Projected states_;
  c10::optional<at::Tensor> mask_, padding_;
};

PyValue multi_head_attention_forward(const Bound& a) { return Attention(a).run(); }

constexpr ApiRow kAttentionRows[] = {
    {"Functional.multi_head_attention_forward",
     "query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, "
     "bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, "
     "key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False, "
     "q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, "
     "average_attn_weights=True, is_causal=False",
     &multi_head_attention_forward},
};

}  // namespace

std::span<const ApiRow> attention_rows() { return kAttentionRows; }

}  // namespace msprobe::execute
