// SPDX-License-Identifier: Apache-2.0
// The rows of fused operators beyond those that the documents name: what training and serving on an
// NPU consist of. Their definitions are those of the vendor's documents; docs/fused_operators.md
// has them.
#include <algorithm>

#include <fmt/format.h>

#include "execute/npu/attention_core.h"
#include "execute/npu/experts.h"
#include "execute/npu/formula.h"
#include "execute/npu/gates.h"
#include "execute/npu/grouped_arguments.h"
#include "execute/npu/norms.h"
#include "execute/npu/npu_operators.h"
#include "execute/npu/transforms.h"

namespace msprobe::execute::npu {
namespace {

PyValue run_gelu(const Bound& a) { return {npu_gelu(a.tensor("input"), a.text("approximate"))}; }

PyValue run_gelu_backward(const Bound& a) {
  return {npu_gelu_backward(a.tensor("grad_output"), a.tensor("input"), a.text("approximate"))};
}

GeluGate gelu_gate(const Bound& a) {
  return {.dim = a.integer("dim"),
          .tanh = a.integer("approximate") != 0,
          .activate_left = a.boolean("activate_left")};
}

PyValue run_geglu(const Bound& a) {
  const auto [product, gelu] = npu_geglu(a.tensor("input"), gelu_gate(a));
  return tuple_of({product, gelu});
}

PyValue run_geglu_grad(const Bound& a) {
  return {
      npu_geglu_grad(a.tensor("grad_output"), a.tensor("input"), a.tensor("gelu"), gelu_gate(a))};
}

// How many rows the groups have; nothing where there are no groups.
c10::optional<std::int64_t> rows_of_counts(const Bound& a, std::string_view name) {
  if (a.is_none(name)) return c10::nullopt;
  return a.tensor(name).sum().item<std::int64_t>();
}

PyValue run_clipped_swiglu(const Bound& a) {
  const ClippedSwiglu options{.dim = a.integer("dim"),
                              .alpha = a.real("alpha"),
                              .limit = a.real("limit"),
                              .bias = a.real("bias"),
                              .interleaved = a.boolean("interleaved")};
  return {npu_clipped_swiglu(a.tensor("x"), options, rows_of_counts(a, "group_index"))};
}

PyValue run_add_rms_norm(const Bound& a) {
  const auto [y, rstd, x] =
      npu_add_rms_norm(a.tensor("x1"), a.tensor("x2"), a.tensor("gamma"), a.real("epsilon"));
  return tuple_of({y, rstd, x});
}

PyValue run_interleave_rope(const Bound& a) {
  return {npu_interleave_rope(a.tensor("x"), a.tensor("cos"), a.tensor("sin"))};
}

PyValue run_apply_rotary_pos_emb(const Bound& a) {
  const auto turned = [&](std::string_view name) {
    return npu_rotary_mul(a.tensor(name), a.tensor("cos"), a.tensor("sin"),
                          {a.text("rotary_mode"), at::Tensor()});
  };
  return tuple_of({turned("query"), turned("key")});
}

PyValue run_bmm_v2(const Bound& a) {
  return {npu_bmm_v2(a.tensor("input"), a.tensor("mat2"), a.integers("output_sizes"))};
}

PyValue run_transpose_batchmatmul(const Bound& a) {
  if (!a.is_none("bias")) throw BindError("npu_transpose_batchmatmul: bias has no benchmark");
  if (!a.is_none("scale")) return run_formula("NPU.npu_transpose_batchmatmul", a);
  TransposeBatchMatmul options;
  options.perm_x1 = a.opt_integers("perm_x1").value_or(options.perm_x1);
  options.perm_x2 = a.opt_integers("perm_x2").value_or(options.perm_x2);
  options.perm_y = a.opt_integers("perm_y").value_or(options.perm_y);
  options.batch_split_factor = a.opt_integer("batch_split_factor").value_or(1);
  return {npu_transpose_batchmatmul(a.tensor("input"), a.tensor("weight"), options)};
}

PyValue run_scatter_nd_update(const Bound& a) {
  return {npu_scatter_nd_update(a.tensor("input"), a.tensor("indices"), a.tensor("updates"))};
}

PyValue run_scatter_nd_update_in_place(const Bound& a) {
  const at::NoGradGuard no_grad;
  const at::Tensor updated =
      npu_scatter_nd_update(a.tensor("input"), a.tensor("indices"), a.tensor("updates"));
  return {at::Tensor(a.tensor("input")).copy_(updated)};
}

PyValue run_attention_update(const Bound& a) {
  const auto [out, lse] = npu_attention_update(a.tensors("lse"), a.tensors("local_out"));
  if (a.integer("update_type") == 1) return tuple_of({out, lse});
  return {PyList{{out}, {dump::None{}}}};  // the second result is not written
}

PyValue run_token_permute(const Bound& a) {
  if (a.boolean("padded_mode")) throw BindError("npu_moe_token_permute: padded_mode is True");
  const auto [permuted, went_to] = npu_moe_token_permute(a.tensor("tokens"), a.tensor("indices"),
                                                         a.opt_integer("num_out_tokens"));
  return tuple_of({permuted, went_to});
}

PyValue run_token_unpermute(const Bound& a) {
  if (a.boolean("padded_mode")) throw BindError("npu_moe_token_unpermute: padded_mode is True");
  return {npu_moe_token_unpermute(a.tensor("permuted_tokens"), a.tensor("sorted_indices"),
                                  a.tensor_or_undefined("probs"))};
}

PyValue run_compute_expert_tokens(const Bound& a) {
  return {npu_moe_compute_expert_tokens(a.tensor("sorted_expert_for_source_row"),
                                        a.integer("num_expert"))};
}

PyValue run_finalize_routing(const Bound& a) {
  return {npu_moe_finalize_routing(a.tensor("expanded_permuted_rows"),
                                   a.tensor("expanded_src_to_dst_row"),
                                   {.skip1 = a.tensor_or_undefined("skip1"),
                                    .skip2 = a.tensor_or_undefined("skip2"),
                                    .bias = a.tensor_or_undefined("bias"),
                                    .scales = a.tensor_or_undefined("scales"),
                                    .expert = a.tensor_or_undefined("export_for_source_row"),
                                    .drop_pad_mode = a.opt_integer("drop_pad_mode").value_or(0)})};
}

std::vector<at::Tensor> tensors_or_none(const Bound& a, std::string_view name) {
  return a.is_none(name) ? std::vector<at::Tensor>() : a.tensors(name);
}

PyValue run_grouped_matmul(const Bound& a) {
  if (is_quantised_product(a)) return run_formula("NPU.npu_grouped_matmul", a);
  if (a.opt_integer("act_type").value_or(0) != 0) {
    throw BindError("npu_grouped_matmul: act_type without per_token_scale has no benchmark");
  }
  GroupedCut cut = grouped_cut(a);
  return list_of(npu_grouped_matmul({.x = a.tensors("x"),
                                     .weight = a.tensors("weight"),
                                     .bias = tensors_or_none(a, "bias"),
                                     .ends = std::move(cut.ends),
                                     .by = cut.by,
                                     .one_result = cut.one_result}));
}

constexpr std::string_view kGroupedMatmul =
    "x, weight, *, bias=None, scale=None, offset=None, antiquant_scale=None, "
    "antiquant_offset=None, per_token_scale=None, group_list=None, activation_input=None, "
    "activation_quant_scale=None, activation_quant_offset=None, split_item=0, group_type=None, "
    "group_list_type=0, act_type=0, tuning_config=None, output_dtype=None, x_dtype=None, "
    "weight_dtype=None, scale_dtype=None, per_token_scale_dtype=None";
constexpr std::string_view kGeglu = "input|self|x, dim=-1, approximate=1, activate_left=False";
constexpr std::string_view kScatter = "input|self, indices, updates";
constexpr std::string_view kUnpermute =
    "permuted_tokens, sorted_indices, probs=None, padded_mode=False, restore_shape=None";

constexpr ApiRow kFurtherRows[] = {
    {"Aten.npu_geglu_grad",
     "grad_output, input|self, gelu, dim=-1, approximate=1, activate_left=False", &run_geglu_grad},
    {"Aten.npu_gelu_backward", "grad_output, input|self, *, approximate='none'",
     &run_gelu_backward},
    {"NPU.npu_add_rms_norm", "x1, x2, gamma, epsilon=1e-06", &run_add_rms_norm},
    {"NPU.npu_apply_rotary_pos_emb", "query, key, cos, sin, layout='BSND', rotary_mode='half'",
     &run_apply_rotary_pos_emb},
    {"NPU.npu_attention_update", "lse, local_out, update_type", &run_attention_update},
    {"NPU.npu_bmmV2", "input|self, mat2, output_sizes", &run_bmm_v2},
    {"NPU.npu_clipped_swiglu",
     "x, *, group_index=None, dim=-1, alpha=1.702, limit=7.0, bias=1.0, interleaved=True",
     &run_clipped_swiglu},
    {"NPU.npu_geglu", kGeglu, &run_geglu},
    {"NPU.npu_gelu", "input|self, *, approximate='none'", &run_gelu},
    {"NPU.npu_grouped_matmul", kGroupedMatmul, &run_grouped_matmul},
    {"NPU.npu_interleave_rope", "x, cos, sin", &run_interleave_rope},
    {"NPU.npu_moe_compute_expert_tokens", "sorted_expert_for_source_row, num_expert",
     &run_compute_expert_tokens},
    {"NPU.npu_moe_finalize_routing",
     "expanded_permuted_rows, skip1, skip2, bias, scales, expanded_src_to_dst_row, "
     "export_for_source_row, drop_pad_mode=0, k=1",
     &run_finalize_routing},
    {"NPU.npu_moe_token_permute", "tokens, indices, num_out_tokens=None, padded_mode=False",
     &run_token_permute},
    {"NPU.npu_moe_token_unpermute", kUnpermute, &run_token_unpermute},
    {"NPU.npu_scatter_nd_update", kScatter, &run_scatter_nd_update},
    {"NPU.npu_scatter_nd_update_", kScatter, &run_scatter_nd_update_in_place},
    {"NPU.npu_transpose_batchmatmul",
     "input, weight, *, bias=None, scale=None, perm_x1=None, perm_x2=None, perm_y=None, "
     "batch_split_factor=1",
     &run_transpose_batchmatmul},
};
static_assert(std::ranges::is_sorted(kFurtherRows, {}, &ApiRow::api),
              "keep kFurtherRows in api order");

// `tensor` as rows, those from `defined` on cleared; as it is if it does not have the shape of the
// benchmark's result, which somebody has to see.
at::Tensor cleared(const at::Tensor& tensor, const at::Tensor& bench, std::int64_t rows,
                   std::int64_t defined) {
  if (tensor.sizes() != bench.sizes() || defined >= rows || tensor.numel() == 0) return tensor;
  const at::NoGradGuard no_grad;
  at::Tensor copy = tensor.detach().clone(at::MemoryFormat::Contiguous);
  copy.view({rows, -1}).narrow(0, defined, rows - defined).zero_();
  return copy;
}

struct DefinedRows {
  std::int64_t rows = 0;
  std::int64_t defined = 0;
};

// Of the result of a call; nothing where all of it is defined.
c10::optional<DefinedRows> defined_rows(std::string_view api, const PyCall& call) {
  const bool grouped = api == "NPU.npu_grouped_matmul";
  if (!grouped && api != "NPU.npu_clipped_swiglu") return c10::nullopt;
  const auto row = std::ranges::find(kFurtherRows, api, &ApiRow::api);
  const Signature signature(row->signature);
  const Bound a(signature, call);
  if (grouped) {
    const GroupedCut cut = grouped_cut(a);
    if (cut.by != GroupedBy::kRows || !cut.one_result) return c10::nullopt;
    return DefinedRows{a.tensors("x").at(0).size(0), cut.ends.empty() ? 0 : cut.ends.back()};
  }
  const auto defined = rows_of_counts(a, "group_index");
  if (!defined) return c10::nullopt;
  const at::Tensor& x = a.tensor("x");
  std::int64_t rows = 1;
  for (std::int64_t d = 0; d < at::maybe_wrap_dim(a.integer("dim"), x.dim()); ++d)
    rows *= x.size(d);
  return DefinedRows{rows, *defined};
}

}  // namespace

std::span<const ApiRow> further_operators() { return kFurtherRows; }

namespace {

// A result that the benchmark does not have is not defined, whatever a device leaves there.
void drop_what_is_none(const PyValue& bench, PyValue& other) {
  const auto* ours = bench.as<PyList>();
  auto* const theirs = std::get_if<PyList>(&other.data);
  if (ours == nullptr || theirs == nullptr) return;
  for (std::size_t i = 0; i < std::min(ours->size(), theirs->size()); ++i) {
    if ((*ours)[i].is_none()) (*theirs)[i] = {dump::None{}};
  }
}

// Clears what the formula of the API says is not written. An element that has another shape than
// it should is left for somebody to see.
void clear_unwritten(const FormulaRow& row, const PyCall& call, PyValue& other) {
  const std::vector<at::Tensor> masks = written_masks(row, call);
  const auto clear = [&](PyValue& value, const at::Tensor& mask) {
    const auto* tensor = value.as<at::Tensor>();
    if (tensor == nullptr || !mask.defined() || tensor->dim() != mask.dim()) return;
    for (std::int64_t d = 0; d < mask.dim(); ++d) {
      if (mask.size(d) != 1 && mask.size(d) != tensor->size(d)) return;
    }
    const at::NoGradGuard no_grad;
    value = {at::where(mask, tensor->detach(), at::zeros({}, tensor->options()))};
  };
  auto* const list = std::get_if<PyList>(&other.data);
  if (list == nullptr) {
    if (!masks.empty()) clear(other, masks[0]);
    return;
  }
  for (std::size_t i = 0; i < std::min(masks.size(), list->size()); ++i) {
    clear((*list)[i], masks[i]);
  }
}

}  // namespace

void clear_undefined(std::string_view api, const PyCall& call, const PyValue& bench,
                     PyValue& other) {
  if (api.starts_with("NPU.")) drop_what_is_none(bench, other);
  if (const FormulaRow* row = find_formula(api); row != nullptr && row->written != nullptr) {
    return clear_unwritten(*row, call, other);
  }
  const auto found = defined_rows(api, call);
  if (!found) return;
  const auto clear = [&](const PyValue& ours, PyValue& theirs) {
    const auto* bench_tensor = ours.as<at::Tensor>();
    const auto* tensor = theirs.as<at::Tensor>();
    if (bench_tensor == nullptr || tensor == nullptr) return;
    theirs = {cleared(*tensor, *bench_tensor, found->rows, found->defined)};
  };
  const auto* ours = bench.as<PyList>();
  auto* const theirs = std::get_if<PyList>(&other.data);
  if (ours == nullptr || theirs == nullptr) return clear(bench, other);
  for (std::size_t i = 0; i < std::min(ours->size(), theirs->size()); ++i) {
    clear((*ours)[i], (*theirs)[i]);
  }
}

}  // namespace msprobe::execute::npu
