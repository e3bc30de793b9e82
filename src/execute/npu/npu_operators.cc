// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/npu_operators.h"

#include <algorithm>

#include <fmt/format.h>

#include "execute/npu/activations.h"
#include "execute/npu/attention.h"
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
  const AdamState next = npu_apply_adam_w(step, a.tensor("grad"),
                                          a.tensor_or_undefined("max_grad_norm"), adam_state(a));
  return tuple_of({next.var, next.m, next.v});
}

PyValue run_apply_adam(const Bound& a) {
  const AdamStep step = {.beta1_power = number(a, "beta1_power"),
                         .beta2_power = number(a, "beta2_power"),
                         .lr = number(a, "lr"),
                         .beta1 = number(a, "beta1"),
                         .beta2 = number(a, "beta2"),
                         .epsilon = number(a, "epsilon"),
                         .use_nesterov = flag(a, "use_nesterov")};
  const AdamState next = npu_apply_adam(step, a.tensor("grad"), adam_state(a));
  return tuple_of({next.var, next.m, next.v});
}

PyValue run_confusion_transpose(const Bound& a) {
  return {npu_confusion_transpose(a.tensor("self"), a.integers("perm"), a.integers("shape"),
                                  a.boolean("transpose_first"))};
}

PyValue run_confusion_transpose_backward(const Bound& a) {
  // Autograd passes the negation of the forward's flag: true stands for "permute first" again, in
  // the backward.
  return {npu_confusion_transpose_backward(a.tensor("grad"), a.integers("perm"),
                                           a.integers("shape"), !a.boolean("transpose_first"))};
}

PyValue run_fast_gelu(const Bound& a) { return {npu_fast_gelu(a.tensor("self"))}; }

PyValue run_fast_gelu_backward(const Bound& a) {
  return {npu_fast_gelu_backward(a.tensor("grad"), a.tensor("self"))};
}

PyValue run_mish(const Bound& a) { return {npu_mish(a.tensor("self"))}; }

PyValue run_swiglu(const Bound& a) { return {npu_swiglu(a.tensor("self"), a.integer("dim"))}; }

PyValue run_swiglu_backward(const Bound& a) {
  return {npu_swiglu_backward(a.tensor("grad_output"), a.tensor("self"), a.integer("dim"))};
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
  return tuple_from(npu_rms_norm(a.tensor("self"), a.tensor("gamma"), a.real("epsilon")));
}

PyValue run_rms_norm_backward(const Bound& a) {
  return tuple_from(
      npu_rms_norm_backward(a.tensor("dy"), a.tensor("self"), a.tensor("gamma"), a.tensor("rstd")));
}

PyValue run_group_norm_silu(const Bound& a) {
  return tuple_from(npu_group_norm_silu(a.tensor("input"), a.tensor_or_undefined("weight"),
                                        a.tensor_or_undefined("bias"), a.integer("group"),
                                        a.real("eps")));
}

PyValue run_rotary_mul(const Bound& a) {
  return {npu_rotary_mul(a.tensor("self"), a.tensor("r1"), a.tensor("r2"),
                         {a.text("rotary_mode"), a.tensor_or_undefined("rotate")})};
}

PyValue run_rotary_mul_backward(const Bound& a) {
  return tuple_from(
      npu_rotary_mul_backward(a.tensor("grad"), a.tensor("self"), a.tensor("r1"), a.tensor("r2"),
                              {a.text("rotary_mode"), a.tensor_or_undefined("rotate")}));
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
  return {npu_sort_v2(a.tensor("self"), a.integer("dim"), a.boolean("descending"))};
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

PyValue run_fusion_attention(const Bound& a) {
  return tuple_from(npu_fusion_attention(a.tensor("query"), a.tensor("key"), a.tensor("value"),
                                         attention_options(a, "scale")));
}

PyValue run_fusion_attention_grad(const Bound& a) {
  const FusionAttentionGradients gradients =
      npu_fusion_attention_grad(a.tensor("query"), a.tensor("key"), a.tensor("value"),
                                a.tensor("dy"), attention_options(a, "scale_value"));
  const auto& [query, key, value, pse, sink] = gradients;
  return sink.defined() ? tuple_with_none({query, key, value, pse, sink})
                        : tuple_with_none({query, key, value, pse});
}

// First the names of the operators' own parameters, after a bar those that the public tool's
// definitions use.
constexpr std::string_view kAttention =
    "query, key, value, head_num, input_layout, pse=None, padding_mask=None, atten_mask=None, "
    "scale=1.0, keep_prob=1.0, pre_tockens=2147483647, next_tockens=2147483647, inner_precise=0, "
    "prefix=None, actual_seq_qlen=None, actual_seq_kvlen=None, sparse_mode=0, "
    "gen_mask_parallel=True, sync=False, softmax_layout='', sink=None, dropout_mask=None, "
    "seed=None, offset=None";
constexpr std::string_view kAttentionGrad =
    "query, key, value, dy, head_num, input_layout, *, pse=None, padding_mask=None, "
    "atten_mask=None, softmax_max=None, softmax_sum=None, softmax_in=None, attention_in=None, "
    "scale_value=1.0, keep_prob=1.0, pre_tockens=2147483647, next_tockens=2147483647, "
    "inner_precise=0, seed=0, offset=0, numels=0, prefix=None, actual_seq_qlen=None, "
    "actual_seq_kvlen=None, sparse_mode=0, gen_mask_parallel=True, sync=False, "
    "softmax_layout='', sink=None, dropout_mask=None";
constexpr std::string_view kMaskedSoftmaxGrad =
    "y_grad|grad, y, mask, scale=1.0, fixed_triu_mask=False";
constexpr std::string_view kRotaryGrad =
    "grad, self|x|input, r1, r2, rotary_mode='half', rotate=None";

constexpr ApiRow kRows[] = {
    {"Aten.matmul_backward", "grad, self, other, mask", &run_matmul_backward},
    {"Aten.npu_confusion_transpose_backward", "grad, perm, shape, transpose_first",
     &run_confusion_transpose_backward},
    {"Aten.npu_fast_gelu_backward", "grad, self|x", &run_fast_gelu_backward},
    {"Aten.npu_fusion_attention_grad", kAttentionGrad, &run_fusion_attention_grad},
    {"Aten.npu_linear_backward", "grad, input|x, weight", &run_linear_backward},
    {"Aten.npu_rms_norm_backward", "dy|grad, self|x, gamma, rstd", &run_rms_norm_backward},
    {"Aten.npu_rotary_mul_backward", kRotaryGrad, &run_rotary_mul_backward},
    {"Aten.npu_scaled_masked_softmax_backward", kMaskedSoftmaxGrad,
     &run_scaled_masked_softmax_backward},
    {"Aten.npu_swiglu_backward", "grad_output|grad, self|x, dim=-1", &run_swiglu_backward},
    {"NPU.fast_gelu", "self|x", &run_fast_gelu},
    {"NPU.npu_apply_adam",
     "beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_locking, use_nesterov, out",
     &run_apply_adam},
    {"NPU.npu_apply_adam_w",
     "beta1_power, beta2_power, lr, weight_decay, beta1, beta2, epsilon|eps, grad, max_grad_norm, "
     "amsgrad, maximize, out",
     &run_apply_adam_w},
    {"NPU.npu_confusion_transpose", "self|data, perm, shape, transpose_first",
     &run_confusion_transpose},
    {"NPU.npu_fast_gelu", "self|x", &run_fast_gelu},
    {"NPU.npu_fusion_attention", kAttention, &run_fusion_attention},
    {"NPU.npu_group_norm_silu", "input|x, weight|gama|gamma, bias|beta, group, eps=1e-05",
     &run_group_norm_silu},
    {"NPU.npu_layer_norm_eval", "input|data, normalized_shape, weight=None, bias=None, eps=1e-05",
     &run_layer_norm_eval},
    {"NPU.npu_linear", "input|x, weight, bias=None", &run_linear},
    {"NPU.npu_mish", "self|x|input", &run_mish},
    {"NPU.npu_moe_gating_top_k_softmax", "x, finished|finished_optional=None, k=1",
     &run_moe_gating_top_k_softmax},
    {"NPU.npu_rms_norm", "self|x|input, gamma, epsilon=1e-06", &run_rms_norm},
    {"NPU.npu_rotary_mul", "self|x|input, r1, r2, rotary_mode='half', rotate=None",
     &run_rotary_mul},
    {"NPU.npu_scaled_masked_softmax", "x, mask, scale=1.0, fixed_triu_mask=False",
     &run_scaled_masked_softmax},
    {"NPU.npu_sort_v2", "self|x|input, dim=-1, descending=False, out=None", &run_sort_v2},
    {"NPU.npu_swiglu", "self|x|input, dim=-1", &run_swiglu},
};
static_assert(std::ranges::is_sorted(kRows, {}, &ApiRow::api), "keep kRows in api order");

constexpr std::string_view kAttentionApi = "NPU.npu_fusion_attention";
constexpr std::string_view kAttentionGradApi = "Aten.npu_fusion_attention_grad";
constexpr std::size_t kKeepProbPosition = 9;  // among the positional arguments of the forward

}  // namespace

std::span<const ApiRow> npu_operators() { return kRows; }

std::string without_dropout(std::string_view api, PyCall& call) {
  if (api != kAttentionApi && api != kAttentionGradApi) return "";
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
