// SPDX-License-Identifier: Apache-2.0
// APIs of MindSpore that no single API of PyTorch stands for.
#include <algorithm>

#include <fmt/format.h>

#include "execute/mindspore/mindspore_names.h"
#include "execute/npu/attention.h"

namespace msprobe::execute::mindspore {
namespace {

bool names(const Bound& a, std::string_view keyword) {
  return std::ranges::any_of(a.call().kwargs,
                             [&](const auto& item) { return item.first == keyword; });
}

// max() of everything, max(other), max(dim) with indices; max(axis=) without, as NumPy has it.
PyValue extreme(const Bound& a, bool largest) {
  const at::Tensor& self = a.tensor("self");
  if (const auto* other = a.value("dim").as<at::Tensor>()) {
    return {largest ? self.maximum(*other) : self.minimum(*other)};
  }
  const bool keep = a.boolean("keepdim");
  if (a.is_none("dim")) return {largest ? self.max() : self.min()};
  if (a.value("dim").as<PyList>() != nullptr) {
    const auto dims = a.integers("dim");
    return {largest ? self.amax(dims, keep) : self.amin(dims, keep)};
  }
  const std::int64_t dim = a.integer("dim");
  const auto [values, indices] = largest ? self.max(dim, keep) : self.min(dim, keep);
  const bool values_alone = names(a, "axis") && !a.boolean("return_indices");
  return values_alone ? PyValue{values} : tuple_of({values, indices});
}
PyValue largest(const Bound& a) { return extreme(a, true); }
PyValue smallest(const Bound& a) { return extreme(a, false); }

// Two dimensions change places; a list, or any other number of them, is a permutation.
PyValue transpose(const Bound& a) {
  const at::Tensor& self = a.tensor("self");
  const auto& rest = *a.value("axes").as<PyList>();
  if (rest.empty() && !names(a, "dim0"))
    return {self.permute([&] {
      std::vector<std::int64_t> reversed;
      for (std::int64_t i = self.dim() - 1; i >= 0; --i) reversed.push_back(i);
      return reversed;
    }())};
  if (names(a, "dim0")) return {self.transpose(a.integer("dim0"), a.integer("dim1"))};
  const bool list = rest.size() == 1 && rest.front().as<PyList>() != nullptr;
  const auto axes = as_integers(list ? rest.front() : PyValue{rest});
  if (!axes) throw BindError("transpose: the axes are not integers");
  if (!list && axes->size() == 2) return {self.transpose((*axes)[0], (*axes)[1])};
  return {self.permute(*axes)};
}

// Tiles since MindSpore 2.6; repeated every element, as NumPy does, before. The recorded shape
// tells.
PyValue repeat(const Bound& a) {
  const at::Tensor& self = a.tensor("self");
  const auto& rest = *a.value("repeats").as<PyList>();
  const bool list = rest.size() == 1 && rest.front().as<PyList>() != nullptr;
  const auto counts = as_integers(list ? rest.front() : PyValue{rest});
  if (!counts) throw BindError("repeat: the counts are not integers");
  const auto& wanted = a.call().output_shape;
  const bool axis_given = !a.is_none("axis");
  const bool tiles = !axis_given && static_cast<std::int64_t>(counts->size()) >= self.dim();
  if (tiles) {
    at::Tensor tiled = self.repeat(*counts);
    if (!wanted || tiled.sizes().vec() == *wanted) return {tiled};
  }
  const auto each =
      counts->size() == 1
          ? self.repeat_interleave(counts->front(), a.opt_integer("axis"))
          : self.repeat_interleave(at::tensor(*counts, at::kLong), a.opt_integer("axis"));
  return {each};
}

// Without a dim the median of everything.
PyValue median(const Bound& a) {
  if (a.is_none("dim")) return {a.tensor("input").median()};
  const auto [values, indices] = a.tensor("input").median(a.integer("dim"), a.boolean("keepdim"));
  return tuple_of({values, indices});
}

PyValue arange(const Bound& a) {
  const bool one = a.is_none("end");
  const at::Scalar start = one ? at::Scalar(0) : a.scalar("start");
  const at::Scalar end = a.scalar(one ? "start" : "end");
  const auto dtype = a.opt_dtype("dtype");
  return {at::arange(start, end, a.scalar("step"),
                     dtype ? at::TensorOptions(*dtype) : at::TensorOptions())};
}

// `side` wins over `right` where it is given.
PyValue searchsorted(const Bound& a) {
  PyCall call{{a.value("sorted_sequence"), a.value("values")}};
  call.kwargs = {{"out_int32", a.value("out_int32")}, {"right", a.value("right")}};
  if (!a.is_none("side")) call.kwargs.emplace_back("side", a.value("side"));
  if (!a.is_none("sorter")) call.kwargs.emplace_back("sorter", a.value("sorter"));
  return call_aten("searchsorted", call);
}

PyValue flash_attention_score(const Bound& a) {
  if (a.real("keep_prob") != 1) {
    throw BindError("keep_prob is below 1: the dropout of the device cannot be drawn again");
  }
  const std::string& layout = a.text("input_layout");
  if (layout == "TND") throw BindError("input_layout TND does not supported for now.");
  const npu::FusionAttention options{.head_num = a.integer("head_num"),
                                     .input_layout = layout,
                                     .pse = a.tensor_or_undefined("real_shift"),
                                     .atten_mask = a.tensor_or_undefined("attn_mask"),
                                     .sink = {},
                                     .scale = a.real("scalar_value"),
                                     .pre_tockens = a.integer("pre_tokens"),
                                     .next_tockens = a.integer("next_tokens"),
                                     .actual_seq_qlen = {},
                                     .actual_seq_kvlen = {},
                                     .sparse_mode = a.integer("sparse_mode")};
  return {std::get<0>(
      npu::npu_fusion_attention(a.tensor("query"), a.tensor("key"), a.tensor("value"), options))};
}

PyValue nested_list(const at::Tensor& tensor) {
  if (tensor.dim() == 0) {
    if (tensor.scalar_type() == at::kBool) return {tensor.item<bool>()};
    if (tensor.is_floating_point()) return {tensor.item<double>()};
    return {tensor.item<std::int64_t>()};
  }
  PyList items;
  for (const at::Tensor& item : tensor.unbind(0)) items.push_back(nested_list(item));
  return {std::move(items)};
}

// One result, which is a list.
PyValue tolist(const Bound& a) {
  PyValue list = nested_list(a.tensor("self"));
  return a.tensor("self").dim() == 0 ? list : PyValue{PyList{std::move(list)}};
}

PyValue numel(const Bound& a) { return {a.tensor("input").numel()}; }
PyValue is_contiguous(const Bound& a) { return {a.tensor("self").is_contiguous()}; }

constexpr std::string_view kExtreme =
    "self, dim|axis|other=None, keepdim|keepdims|keep_dims=False, *, initial=None, where=True, "
    "return_indices=False";

constexpr ApiRow kOwn[] = {
    {"Functional.flash_attention_score",
     "query, key, value, head_num, real_shift=None, drop_mask=None, padding_mask=None, "
     "attn_mask=None, prefix=None, actual_seq_qlen=None, actual_seq_kvlen=None, keep_prob=1.0, "
     "scalar_value=1.0, pre_tokens=2147483647, next_tokens=2147483647, inner_precise=0, "
     "input_layout='BSH', sparse_mode=0",
     &flash_attention_score},
    {"Mint.arange", "start, end=None, step=1, *, dtype=None", &arange},
    {"Mint.median", "input, dim=None, keepdim=False", &median},
    {"Mint.numel", "input", &numel},
    {"Mint.searchsorted",
     "sorted_sequence, values|input, *, out_int32=False, right=False, side=None, sorter=None",
     &searchsorted},
    {"Tensor.is_contiguous", "self", &is_contiguous},
    {"Tensor.max", kExtreme, &largest},
    {"Tensor.min", kExtreme, &smallest},
    {"Tensor.numel", "input|self", &numel},
    {"Tensor.repeat", "self, *repeats, axis=None", &repeat},
    {"Tensor.tolist", "self", &tolist},
    {"Tensor.transpose", "self, *axes, dim0=None, dim1=None", &transpose},
};

}  // namespace

std::span<const ApiRow> own_rows() { return kOwn; }

}  // namespace msprobe::execute::mindspore
