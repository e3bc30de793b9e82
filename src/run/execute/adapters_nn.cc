// SPDX-License-Identifier: Apache-2.0
// Activations, embeddings and normalisations that Python composes.
#include <cmath>

#include <fmt/format.h>

#include "execute/api.h"

namespace msprobe::execute {
namespace {

// The dimension softmax takes where the caller left it open.
std::int64_t softmax_dim(const Bound& a) {
  if (const auto dim = a.opt_integer("dim")) return *dim;
  const std::int64_t rank = a.tensor("input").dim();
  return rank == 0 || rank == 1 || rank == 3 ? 0 : 1;
}

PyValue softmax(const Bound& a) {
  return {a.tensor("input").softmax(softmax_dim(a), a.opt_dtype("dtype"))};
}

PyValue log_softmax(const Bound& a) {
  return {a.tensor("input").log_softmax(softmax_dim(a), a.opt_dtype("dtype"))};
}

PyValue softmin(const Bound& a) {
  return {(-a.tensor("input")).softmax(softmax_dim(a), a.opt_dtype("dtype"))};
}

PyValue softsign(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  return {input / (input.abs() + 1)};
}

PyValue tanhshrink(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  return {input - input.tanh()};
}

PyValue gumbel_softmax(const Bound& a) {
  const at::Tensor& logits = a.tensor("logits");
  const std::int64_t dim = a.integer("dim");
  const auto plain = at::MemoryFormat::Contiguous;
  const at::Tensor noise = -at::empty_like(logits.detach(), plain).exponential_().log();
  const at::Tensor soft = ((logits + noise) / a.scalar("tau")).softmax(dim);
  if (!a.boolean("hard")) return {soft};
  const at::Tensor index = std::get<1>(soft.max(dim, /*keepdim=*/true));
  const at::Tensor hard = at::zeros_like(logits, plain).scatter_(dim, index, 1.0);
  return {hard - soft.detach() + soft};
}

// Whole channels are dropped; an input without a batch gets one for as long as it takes.
template <int kBatchedRank>
PyValue feature_dropout(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  const double p = a.real("p");
  const bool training = a.boolean("training");
  const bool batched = input.dim() == kBatchedRank;
  if (a.boolean("inplace")) {
    at::Tensor self = input;
    if (!batched) self.unsqueeze_(0);
    at::feature_dropout_(self, p, training);
    return {batched ? self : self.squeeze_(0)};
  }
  const at::Tensor result = at::feature_dropout(batched ? input : input.unsqueeze(0), p, training);
  return {batched ? result : result.squeeze(0)};
}

void renorm(const Bound& a, at::Tensor weight, const at::Tensor& input) {
  if (a.is_none("max_norm")) return;
  const at::NoGradGuard no_grad;
  weight = weight.detach();
  at::embedding_renorm_(weight, input.contiguous(), a.real("max_norm"), a.real("norm_type"));
}

PyValue embedding(const Bound& a) {
  const at::Tensor& weight = a.tensor("weight");
  const at::Tensor& input = a.tensor("input");
  std::int64_t padding = -1;
  if (const auto given = a.opt_integer("padding_idx")) {
    padding = *given < 0 ? weight.size(0) + *given : *given;
  }
  renorm(a, weight, input);
  return {
      at::embedding(weight, input, padding, a.boolean("scale_grad_by_freq"), a.boolean("sparse"))};
}

std::int64_t bag_mode(const std::string& mode) {
  if (mode == "sum") return 0;
  if (mode == "mean") return 1;
  if (mode == "max") return 2;
  throw BindError("mode has to be one of sum, mean or max");
}

PyValue embedding_bag(const Bound& a) {
  at::Tensor weight = a.tensor("weight");
  at::Tensor input = a.tensor("input");
  if (weight.scalar_type() == at::kLong && input.is_floating_point()) std::swap(weight, input);
  c10::optional<at::Tensor> offsets = a.opt_tensor("offsets");
  c10::optional<at::Tensor> weights = a.opt_tensor("per_sample_weights");
  bool include_last = a.boolean("include_last_offset");
  if (input.dim() == 2) {
    offsets = at::arange(0, input.numel(), input.size(1), input.options());
    include_last = false;
    input = input.reshape(-1);
    if (weights) weights = weights->reshape(-1);
  }
  if (!offsets) throw BindError("offsets has to be a 1D Tensor but got None");
  renorm(a, weight, input);
  const std::int64_t mode = bag_mode(a.text("mode"));
  const bool by_freq = a.boolean("scale_grad_by_freq");
  return {std::get<0>(at::embedding_bag(weight, input, *offsets, by_freq, mode, a.boolean("sparse"),
                                        weights, include_last, a.opt_integer("padding_idx")))};
}

PyValue normalize(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  const PyValue norm =
      call_aten("linalg_vector_norm",
                {{{input}, a.value("p"), {PyList{a.value("dim")}}}, {{"keepdim", {true}}}});
  const at::Tensor denominator = norm.as<at::Tensor>()->clamp_min(a.scalar("eps")).expand_as(input);
  if (a.is_none("out")) return {input / denominator};
  at::Tensor out = a.tensor("out");
  return {at::div_out(out, input, denominator)};
}

PyValue local_response_norm(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  const std::int64_t size = a.integer("size");
  if (input.dim() < 3) throw BindError("Expected 3D or higher dimensionality input");
  if (input.numel() == 0) return {input};
  at::Tensor square = input.mul(input);
  if (input.dim() == 3) {
    square = at::constant_pad_nd(square.unsqueeze(1), {0, 0, size / 2, (size - 1) / 2});
    square = at::avg_pool2d(square, {size, 1}, {1}).squeeze(1);
  } else {
    square = square.view({input.size(0), 1, input.size(1), input.size(2), -1});
    square = at::constant_pad_nd(square, {0, 0, 0, 0, size / 2, (size - 1) / 2});
    square = at::avg_pool3d(square, {size, 1, 1}, {1}).squeeze(1).view(input.sizes());
  }
  return {input / square.mul(a.scalar("alpha")).add(a.scalar("k")).pow(a.scalar("beta"))};
}

// One value or a list of them, as the operators take them.
PyValue listed(const Bound& a, std::string_view name) {
  const PyValue& value = a.value(name);
  if (value.is_none()) return {PyList{}};
  return value.as<PyList>() != nullptr ? value : PyValue{PyList{value}};
}

PyValue result_type(const Bound& a) {
  return a.is_none("output_dtype") ? PyValue{at::kBFloat16} : a.value("output_dtype");
}

PyValue functional_scaled_mm(const Bound& a) {
  return call_aten("_scaled_mm_v2",
                   {{a.value("mat_a"), a.value("mat_b"), listed(a, "scale_a"),
                     listed(a, "scale_recipe_a"), listed(a, "swizzle_a"), listed(a, "scale_b"),
                     listed(a, "scale_recipe_b"), listed(a, "swizzle_b"), a.value("bias"),
                     result_type(a), listed(a, "contraction_dim"), a.value("use_fast_accum")}});
}

PyValue scaled_grouped_mm(const Bound& a) {
  return call_aten(
      "_scaled_grouped_mm_v2",
      {{a.value("mat_a"), a.value("mat_b"), listed(a, "scale_a"), listed(a, "scale_recipe_a"),
        listed(a, "swizzle_a"), listed(a, "scale_b"), listed(a, "scale_recipe_b"),
        listed(a, "swizzle_b"), a.value("offs"), a.value("bias"), result_type(a),
        listed(a, "contraction_dim"), a.value("use_fast_accum")}});
}

PyValue functional_grouped_mm(const Bound& a) {
  return call_aten("_grouped_mm", {{a.value("mat_a"), a.value("mat_b"), a.value("offs"),
                                    a.value("bias"), a.value("out_dtype")}});
}

constexpr std::string_view kSoftmax = "input, dim=None, _stacklevel=3, dtype=None";
constexpr std::string_view kDropout = "input, p=0.5, training=True, inplace=False";
constexpr ApiRow kNnRows[] = {
    {"Functional.dropout1d", kDropout, &feature_dropout<3>},
    {"Functional.dropout3d", kDropout, &feature_dropout<5>},
    {"Functional.embedding",
     "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, "
     "sparse=False",
     &embedding},
    {"Functional.embedding_bag",
     "input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, "
     "mode='mean', sparse=False, per_sample_weights=None, include_last_offset=False, "
     "padding_idx=None",
     &embedding_bag},
    {"Functional.grouped_mm", "mat_a, mat_b, *, offs=None, bias=None, out_dtype=None",
     &functional_grouped_mm},
    {"Functional.gumbel_softmax", "logits, tau=1, hard=False, eps=1e-10, dim=-1", &gumbel_softmax},
    {"Functional.local_response_norm", "input, size, alpha=0.0001, beta=0.75, k=1.0",
     &local_response_norm},
    {"Functional.log_softmax", kSoftmax, &log_softmax},
    {"Functional.normalize", "input, p=2.0, dim=1, eps=1e-12, out=None", &normalize},
    {"Functional.scaled_grouped_mm",
     "mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, "
     "swizzle_b=None, bias=None, offs=None, output_dtype=None, contraction_dim=None, "
     "use_fast_accum=False",
     &scaled_grouped_mm},
    {"Functional.scaled_mm",
     "mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, "
     "swizzle_b=None, bias=None, output_dtype=None, contraction_dim=None, use_fast_accum=False",
     &functional_scaled_mm},
    {"Functional.softmax", kSoftmax, &softmax},
    {"Functional.softmin", kSoftmax, &softmin},
    {"Functional.softsign", "input", &softsign},
    {"Functional.tanhshrink", "input", &tanhshrink},
};

}  // namespace

std::span<const ApiRow> nn_rows() { return kNnRows; }

}  // namespace msprobe::execute
