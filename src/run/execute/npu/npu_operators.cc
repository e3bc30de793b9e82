// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/npu_operators.h"

#include <algorithm>

#include <fmt/format.h>

#include "execute/npu/activations.h"
#include "execute/npu/attention.h"
#include "execute/npu/attention_layout.h"
#include "execute/npu/norms.h"
#include "execute/npu/optimizers.h"
#include "execute/npu/routing.h"
#include "execute/npu/transforms.h"

namespace msprobe::execute::npu {
namespace {

// A number, plain or as a tensor of one element in any number of dimensions.
double number(const Bound& a, std::string_view name) {
  const auto* tensor = a.value(name).as<at::Tensor>();
  return tensor != nullptr && tensor->numel() == 1 ? tensor->item<double>() : a.real(name);
}

bool flag(const Bound& a, std::string_view name) { return a.opt_boolean(name).value_or(false); }

std::vector<std::int64_t> integers_or_none(const Bound& a, std::string_view name) {
  return a.opt_integers(name).value_or(std::vector<std::int64_t>());
}

PyValue tuple_with_none(std::initializer_list<at::Tensor> tensors) {
  PyList items;
  for (const at::Tensor& tensor : tensors) {
    items.push_back(tensor.defined() ? PyValue{tensor} : PyValue{dump::None{}});
  }
  return {std::move(items)};
}

template <class... Tensors>
PyValue tuple_from(const std::tuple<Tensors...>& results) {
  return std::apply([](const auto&... tensor) { return tuple_with_none({tensor...}); }, results);
}

AdamState adam_state(const Bound& a) {
  const std::vector<at::Tensor> out = a.tensors("out");
  if (out.size() != 3) {
    throw BindError(fmt::format("out must be (var, m, v), found {} tensors", out.size()));
  }
  return {.var = out[0], .m = out[1], .v = out[2]};
}

// The operator writes its results into `state`, and returns that.
PyValue written(const AdamState& state, const AdamState& next) {
  const at::NoGradGuard no_grad;
  state.var.copy_(next.var);
  state.m.copy_(next.m);
  state.v.copy_(next.v);
  return tuple_of({state.var, state.m, state.v});
}

PyValue run_apply_adam_w(const Bound& a) {
  const AdamWStep step = {.beta1_power = number(a, "beta1_power"),
                          .beta2_power = number(a, "beta2_power"),
                          .lr = number(a, "lr"),
                          .weight_decay = number(a, "weight_decay"),
                          .beta1 = number(a, "beta1"),
                          .beta2 = number(a, "beta2"),
                          .epsilon = number(a, "epsilon"),
                          .amsgrad = flag(a, "amsgrad"),
                          .maximize = flag(a, "maximize")};
  const AdamState state = adam_state(a);
  return written(state, npu_apply_adam_w(step, a.tensor("grad"),
                                         a.tensor_or_undefined("max_grad_norm"), state));
}

PyValue run_apply_adam(const Bound& a) {
  const AdamStep step = {.beta1_power = number(a, "beta1_power"),
                         .beta2_power = number(a, "beta2_power"),
                         .lr = number(a, "lr"),
                         .beta1 = number(a, "beta1"),
                         .beta2 = number(a, "beta2"),
                         .epsilon = number(a, "epsilon"),
                         .use_nesterov = flag(a, "use_nesterov")};
  const AdamState state = adam_state(a);
  return written(state, npu_apply_adam(step, a.tensor("grad"), state));
}

PyValue run_confusion_transpose(const Bound& a) {
  return {npu_confusion_transpose(a.tensor("input"), a.integers("perm"), a.integers("shape"),
                                  a.boolean("transpose_first"))};
}

PyValue run_confusion_transpose_backward(const Bound& a) {
  // Autograd passes the negation of the forward's flag: true stands for "permute first" again, in
  // the backward.
  return {npu_confusion_transpose_backward(a.tensor("grad"), a.integers("perm"),
                                           a.integers("shape"), !a.boolean("transpose_first"))};
}

PyValue run_fast_gelu(const Bound& a) { return {npu_fast_gelu(a.tensor("input"))}; }

PyValue run_fast_gelu_backward(const Bound& a) {
  return {npu_fast_gelu_backward(a.tensor("grad"), a.tensor("input"))};
}

PyValue run_mish(const Bound& a) { return {npu_mish(a.tensor("input"))}; }

PyValue run_swiglu(const Bound& a) { return {npu_swiglu(a.tensor("input"), a.integer("dim"))}; }

PyValue run_swiglu_backward(const Bound& a) {
  return {npu_swiglu_backward(a.tensor("grad_output"), a.tensor("input"), a.integer("dim"))};
}

PyValue run_scaled_masked_softmax(const Bound& a) {
  return {npu_scaled_masked_softmax(a.tensor("x"), a.tensor_or_undefined("mask"),
                                    number(a, "scale"), a.boolean("fixed_triu_mask"))};
}

PyValue run_scaled_masked_softmax_backward(const Bound& a) {
  return {npu_scaled_masked_softmax_backward(a.tensor("y_grad"), a.tensor("y"),
                                             a.tensor_or_undefined("mask"), number(a, "scale"),
                                             a.boolean("fixed_triu_mask"))};
}

PyValue run_layer_norm_eval(const Bound& a) {
  return {npu_layer_norm_eval(a.tensor("input"), a.integers("normalized_shape", 1),
                              a.tensor_or_undefined("weight"), a.tensor_or_undefined("bias"),
                              a.real("eps"))};
}

PyValue run_rms_norm(const Bound& a) {
  return tuple_from(npu_rms_norm(a.tensor("input"), a.tensor("gamma"), a.real("epsilon")));
}

PyValue run_rms_norm_backward(const Bound& a) {
  return tuple_from(npu_rms_norm_backward(a.tensor("dy"), a.tensor("input"), a.tensor("gamma"),
                                          a.tensor("rstd")));
}

PyValue run_group_norm_silu(const Bound& a) {
  return tuple_from(npu_group_norm_silu(a.tensor("input"), a.tensor_or_undefined("weight"),
                                        a.tensor_or_undefined("bias"), a.integer("group"),
                                        a.real("eps")));
}

PyValue run_rotary_mul(const Bound& a) {
  return {npu_rotary_mul(a.tensor("input"), a.tensor("r1"), a.tensor("r2"),
                         {a.text("rotary_mode"), a.tensor_or_undefined("rotate")})};
}

PyValue run_rotary_mul_backward(const Bound& a) {
  return tuple_from(npu_rotary_mul_backward(a.tensor("grad"), a.tensor("input"), a.tensor("r1"),
                                            a.tensor("r2"), {a.text("rotary_mode"), at::Tensor()}));
}

PyValue run_linear(const Bound& a) {
  return {npu_linear(a.tensor("input"), a.tensor("weight"), a.tensor_or_undefined("bias"))};
}

PyValue run_linear_backward(const Bound& a) {
  return tuple_from(npu_linear_backward(a.tensor("grad"), a.tensor("input"), a.tensor("weight")));
}

PyValue run_matmul_backward(const Bound& a) {
  const std::vector<std::int64_t> mask = a.integers("mask");
  return tuple_from(matmul_gradients(a.tensor("grad"), a.tensor("self"), a.tensor("other"),
                                     std::vector<bool>(mask.begin(), mask.end())));
}

PyValue run_moe_gating_top_k_softmax(const Bound& a) {
  return tuple_from(npu_moe_gating_top_k_softmax(a.tensor("x"), a.tensor_or_undefined("finished"),
                                                 a.integer("k")));
}

PyValue run_sort_v2(const Bound& a) {
  at::Tensor sorted = npu_sort_v2(a.tensor("input"), a.integer("dim"), a.boolean("descending"));
  if (a.is_none("out")) return {sorted};
  const at::NoGradGuard no_grad;
  return {at::Tensor(a.tensor("out")).resize_(sorted.sizes()).copy_(sorted)};
}

FusionAttention attention_options(const Bound& a, std::string_view scale) {
  return {.head_num = a.integer("head_num"),
          .input_layout = a.text("input_layout"),
          .pse = a.tensor_or_undefined("pse"),
          .atten_mask = a.tensor_or_undefined("atten_mask"),
          .sink = a.tensor_or_undefined("sink"),
          .scale = a.real(scale),
          .pre_tockens = a.integer("pre_tockens"),
          .next_tockens = a.integer("next_tockens"),
          .actual_seq_qlen = integers_or_none(a, "actual_seq_qlen"),
          .actual_seq_kvlen = integers_or_none(a, "actual_seq_kvlen"),
          .sparse_mode = a.integer("sparse_mode")};
}

std::int64_t number_of_scores(const at::Tensor& query, const at::Tensor& key,
                              const FusionAttention& options) {
  const AttentionLayout layout = layout_named(options.input_layout);
  const Heads heads = heads_of(query, key, layout, options.head_num);
  const bool varlen = layout == AttentionLayout::kTnd;
  const auto parts = [&](const at::Tensor& tensor, std::int64_t count, const auto& ends) {
    using Lengths = std::vector<std::int64_t>;
    return split_parts(tensor, layout, count,
                       varlen ? sequence_lengths(ends, tensor.size(0)) : Lengths());
  };
  const auto queries = parts(query, heads.query, options.actual_seq_qlen);
  const auto keys = parts(key, heads.key, options.actual_seq_kvlen);
  std::int64_t scores = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    scores += queries[i].size(0) * queries[i].size(1) * queries[i].size(2) * keys[i].size(2);
  }
  return scores;
}

PyValue run_fusion_attention(const Bound& a) {
  const FusionAttention options = attention_options(a, "scale");
  const at::Tensor& query = a.tensor("query");
  const auto [y, max, sum] =
      npu_fusion_attention(query, a.tensor("key"), a.tensor("value"), options);
  // Behind them: the softmax, which is not kept; seed and offset of the dropout, of which there is
  // none; how many elements its mask would have.
  return {PyList{{y},
                 {max},
                 {sum},
                 {at::empty({0}, query.options())},
                 {std::int64_t{0}},
                 {std::int64_t{0}},
                 {number_of_scores(query, a.tensor("key"), options)}}};
}

PyValue run_fusion_attention_grad(const Bound& a) {
  const FusionAttentionGradients gradients =
      npu_fusion_attention_grad(a.tensor("query"), a.tensor("key"), a.tensor("value"),
                                a.tensor("dy"), attention_options(a, "scale_value"));
  const auto& [query, key, value, pse, sink] = gradients;
  return tuple_with_none({query, key, value, pse, sink});
}

// The signatures of torch_npu's newest version; older ones lack a few of the keywords at the end.
// After a bar: other names, of older recordings and of the public tool's definitions.
// tests/data/npu_schemas.txt has the schemas of three versions.
constexpr std::string_view kAttention =
    "query, key, value, head_num, input_layout, pse=None, padding_mask=None, atten_mask=None, "
    "scale=1.0, keep_prob=1.0, pre_tockens=2147483647, next_tockens=2147483647, inner_precise=0, "
    "prefix=None, actual_seq_qlen=None, actual_seq_kvlen=None, sparse_mode=0, "
    "gen_mask_parallel=True, sync=False, softmax_layout='', sink=None, dropout_mask=None, "
    "seed=0, offset=0";
constexpr std::string_view kAttentionGrad =
    "query, key, value, dy, head_num, input_layout, *, pse=None, padding_mask=None, "
    "atten_mask=None, softmax_max=None, softmax_sum=None, softmax_in=None, attention_in=None, "
    "scale_value=1.0, keep_prob=1.0, pre_tockens=2147483647, next_tockens=2147483647, "
    "inner_precise=0, seed=0, offset=0, numels=0, prefix=None, actual_seq_qlen=None, "
    "actual_seq_kvlen=None, sparse_mode=0, gen_mask_parallel=True, sync=False, "
    "softmax_layout='', sink=None";
constexpr std::string_view kMaskedSoftmaxGrad = "y_grad|grad, y, mask, scale, fixed_triu_mask";
constexpr std::string_view kRotaryGrad = "grad, input|self|x, r1, r2, rotary_mode='half'";

constexpr ApiRow kRows[] = {
    {"Aten.matmul_backward", "grad, self, other, mask", &run_matmul_backward},
    {"Aten.npu_confusion_transpose_backward", "grad, perm, shape, transpose_first",
     &run_confusion_transpose_backward},
    {"Aten.npu_fast_gelu_backward", "grad, input|self|x", &run_fast_gelu_backward},
    {"Aten.npu_fusion_attention_grad", kAttentionGrad, &run_fusion_attention_grad},
    {"Aten.npu_linear_backward", "grad, input|x, weight", &run_linear_backward},
    {"Aten.npu_rms_norm_backward", "dy|grad, input|self|x, gamma, rstd", &run_rms_norm_backward},
    {"Aten.npu_rotary_mul_backward", kRotaryGrad, &run_rotary_mul_backward},
    {"Aten.npu_scaled_masked_softmax_backward", kMaskedSoftmaxGrad,
     &run_scaled_masked_softmax_backward},
    {"Aten.npu_swiglu_backward", "grad_output|grad, input|self|x, dim=-1", &run_swiglu_backward},
    {"NPU.fast_gelu", "input|self|x", &run_fast_gelu},
    {"NPU.npu_apply_adam",
     "beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_locking, use_nesterov, *, "
     "out",
     &run_apply_adam},
    {"NPU.npu_apply_adam_w",
     "beta1_power, beta2_power, lr, weight_decay, beta1, beta2, epsilon|eps, grad, max_grad_norm, "
     "amsgrad, maximize, *, out",
     &run_apply_adam_w},
    {"NPU.npu_confusion_transpose", "input|self|data, perm, shape, transpose_first",
     &run_confusion_transpose},
    {"NPU.npu_fast_gelu", "input|self|x", &run_fast_gelu},
    {"NPU.npu_fusion_attention", kAttention, &run_fusion_attention},
    {"NPU.npu_group_norm_silu", "input|x, weight|gama|gamma, bias|beta, group, eps=1e-05",
     &run_group_norm_silu},
    {"NPU.npu_layer_norm_eval", "input|data, normalized_shape, weight=None, bias=None, eps=1e-05",
     &run_layer_norm_eval},
    {"NPU.npu_linear", "input|x, weight, bias=None", &run_linear},
    {"NPU.npu_mish", "input|self|x", &run_mish},
    {"NPU.npu_moe_gating_top_k_softmax", "x, finished|finished_optional=None, k=1",
     &run_moe_gating_top_k_softmax},
    {"NPU.npu_rms_norm", "input|self|x, gamma, epsilon=1e-06", &run_rms_norm},
    {"NPU.npu_rotary_mul", "input|self|x, r1, r2, rotary_mode='half', rotate=None",
     &run_rotary_mul},
    {"NPU.npu_scaled_masked_softmax", "x, mask, scale=1.0, fixed_triu_mask=False",
     &run_scaled_masked_softmax},
    {"NPU.npu_sort_v2", "input|self|x, dim=-1, descending=False, *, out=None", &run_sort_v2},
    {"NPU.npu_swiglu", "input|self|x, dim=-1", &run_swiglu},
};
static_assert(std::ranges::is_sorted(kRows, {}, &ApiRow::api), "keep kRows in api order");

constexpr std::string_view kAttentionApi = "NPU.npu_fusion_attention";
constexpr std::string_view kSecondAttentionApi = "NPU.npu_fusion_attention_v2";
constexpr std::string_view kAttentionGradApi = "Aten.npu_fusion_attention_grad";
constexpr std::size_t kKeepProbPosition = 9;  // among the positional arguments of the forward

}  // namespace

std::span<const ApiRow> npu_operators() { return kRows; }

std::string without_dropout(std::string_view api, PyCall& call) {
  if (api != kAttentionApi && api != kSecondAttentionApi && api != kAttentionGradApi) return "";
  PyValue* keep_prob = nullptr;
  if (api == kAttentionApi && call.args.size() > kKeepProbPosition) {
    keep_prob = &call.args[kKeepProbPosition];
  }
  for (auto& [name, value] : call.kwargs) {
    if (name == "keep_prob") keep_prob = &value;
  }
  if (keep_prob == nullptr) return "";
  const auto recorded = as_real(*keep_prob);
  if (!recorded || *recorded == 1) return "";
  *keep_prob = {1.0};
  return fmt::format("keep_prob {} was replaced by 1: dropout is not reproducible.", *recorded);
}

void drop_missing_gradients(std::string_view api, PyValue& bench, const PyValue& device) {
  if (api != kAttentionGradApi) return;
  auto* const ours = std::get_if<PyList>(&bench.data);
  const auto* const theirs = device.as<PyList>();
  if (ours == nullptr || theirs == nullptr) return;
  while (ours->size() > theirs->size() && ours->back().is_none()) ours->pop_back();
}

}  // namespace msprobe::execute::npu
