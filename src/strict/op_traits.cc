#include "strict/op_traits.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "execute/tree.h"

namespace msprobe::strict {
namespace {

using arguments::PyCall;
using arguments::PyValue;

constexpr std::string_view kExact[] = {
    "__getitem__",
    "__setitem__",
    "abs",
    "abs_",
    "absolute",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "alias",
    "amax",
    "amin",
    "aminmax",
    "argsort",
    "as_strided",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_tensors",
    "broadcast_to",
    "cat",
    "ceil",
    "ceil_",
    "channel_shuffle",
    "chunk",
    "clamp",
    "clamp_",
    "clamp_max",
    "clamp_max_",
    "clamp_min",
    "clamp_min_",
    "clip",
    "clip_",
    "clone",
    "column_stack",
    "concat",
    "concatenate",
    "conj",
    "constant_pad_nd",
    "contiguous",
    "copy_",
    "cummax",
    "cummin",
    "detach",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "dsplit",
    "dstack",
    "embedding",
    "expand",
    "expand_as",
    "eye",
    "fill",
    "fill_",
    "fix",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "floor",
    "floor_",
    "fmax",
    "fmin",
    "full",
    "full_like",
    "gather",
    "hardtanh",
    "hsplit",
    "hstack",
    "imag",
    "index_copy",
    "index_copy_",
    "index_fill",
    "index_fill_",
    "index_select",
    "kthvalue",
    "masked_fill",
    "masked_fill_",
    "masked_scatter",
    "masked_select",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "maximum",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mode",
    "moveaxis",
    "movedim",
    "msort",
    "nanmedian",
    "narrow",
    "narrow_copy",
    "neg",
    "neg_",
    "negative",
    "negative_",
    "new_full",
    "new_ones",
    "new_zeros",
    "ones",
    "ones_like",
    "permute",
    "permute_copy",
    "pixel_shuffle",
    "pixel_unshuffle",
    "positive",
    "ravel",
    "real",
    "relu",
    "relu6",
    "relu_",
    "repeat",
    "repeat_interleave",
    "reshape",
    "reshape_as",
    "roll",
    "rot90",
    "select",
    "select_scatter",
    "sign",
    "sign_",
    "slice_scatter",
    "sort",
    "split",
    "split_with_sizes",
    "squeeze",
    "squeeze_",
    "stack",
    "swapaxes",
    "swapdims",
    "t",
    "take",
    "take_along_dim",
    "tensor_split",
    "threshold",
    "tile",
    "topk",
    "transpose",
    "transpose_",
    "tril",
    "tril_",
    "triu",
    "triu_",
    "trunc",
    "trunc_",
    "unbind",
    "unflatten",
    "unfold_copy",
    "unsqueeze",
    "unsqueeze_",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
    "view_copy",
    "vsplit",
    "vstack",
    "where",
    "zero_",
    "zeros",
    "zeros_like",
};
static_assert(std::ranges::is_sorted(kExact));

struct SumsRow {
  std::string_view name;
  Sums sums;
};
constexpr SumsRow kSums[] = {
    {"__matmul__", Sums::kContraction},
    {"__rmatmul__", Sums::kContraction},
    {"addbmm", Sums::kAll},
    {"addmm", Sums::kContraction},
    {"addmm_", Sums::kContraction},
    {"addmv", Sums::kContraction},
    {"baddbmm", Sums::kContraction},
    {"batch_norm", Sums::kNormalized},
    {"bmm", Sums::kContraction},
    {"cdist", Sums::kContraction},
    {"conv1d", Sums::kConvolution},
    {"conv2d", Sums::kConvolution},
    {"conv3d", Sums::kConvolution},
    {"conv_transpose1d", Sums::kConvolution},
    {"conv_transpose2d", Sums::kConvolution},
    {"conv_transpose3d", Sums::kConvolution},
    {"cosine_similarity", Sums::kAlongDim},
    {"cumprod", Sums::kAlongDim},
    {"cumsum", Sums::kAlongDim},
    {"cumulative_trapezoid", Sums::kAlongDim},
    {"dot", Sums::kContraction},
    {"einsum", Sums::kAll},
    {"gelu", Sums::kByShape},
    {"group_norm", Sums::kNormalized},
    {"inner", Sums::kContraction},
    {"instance_norm", Sums::kNormalized},
    {"layer_norm", Sums::kNormalized},
    {"linalg.matmul", Sums::kContraction},
    {"linear", Sums::kContraction},
    {"local_response_norm", Sums::kAlongDim},
    {"log_softmax", Sums::kAlongDim},
    {"logcumsumexp", Sums::kAlongDim},
    {"logsumexp", Sums::kAlongDim},
    {"matmul", Sums::kContraction},
    {"mm", Sums::kContraction},
    {"mv", Sums::kContraction},
    {"normalize", Sums::kAlongDim},
    {"npu_rms_norm", Sums::kNormalized},
    {"renorm", Sums::kAll},
    {"rms_norm", Sums::kNormalized},
    {"scaled_dot_product_attention", Sums::kAll},
    {"softmax", Sums::kAlongDim},
    {"softmin", Sums::kAlongDim},
    {"std", Sums::kByShape},
    {"tensordot", Sums::kAll},
    {"var", Sums::kByShape},
};
static_assert(std::ranges::is_sorted(kSums, {}, &SumsRow::name));

// Families whose every name mixes all of its inputs.
constexpr std::string_view kMixing[] = {"linalg.",
                                        "fft.",
                                        "npu_fusion_attention",
                                        "multi_head_attention_forward",
                                        "lstm",
                                        "gru",
                                        "rnn_",
                                        "_loss",
                                        "cross_entropy",
                                        "cholesky",
                                        "svd",
                                        "pinverse",
                                        "matrix_",
                                        "inverse",
                                        "lu_solve",
                                        "qr",
                                        "corrcoef",
                                        "cov",
                                        "kl_div",
                                        "stft",
                                        "bilinear",
                                        "cumulative"};

std::vector<at::Tensor> float_tensors(const PyCall& call) {
  std::vector<at::Tensor> tensors;
  const auto take = [&](const at::Tensor& tensor) {
    if (tensor.is_floating_point() || tensor.is_complex()) tensors.push_back(tensor);
  };
  for (const PyValue& value : call.args) execute::for_each_tensor(value, take);
  for (const auto& [name, value] : call.kwargs) execute::for_each_tensor(value, take);
  return tensors;
}

// mat1 of addmm and its like stands second.
double contracted_extent(std::string_view name, const std::vector<at::Tensor>& tensors) {
  const bool added = name.starts_with("addm") || name == "baddbmm";
  const at::Tensor& factor = tensors[added && tensors.size() > 1 ? 1 : 0];
  return factor.dim() == 0 ? 1.0 : static_cast<double>(factor.size(-1));
}

double normalized_extent(std::string_view name, const PyCall& call, const at::Tensor& input) {
  const auto numel = static_cast<double>(input.numel());
  if (input.dim() < 2) return numel;
  if (name == "batch_norm")
    return numel / static_cast<double>(std::max<std::int64_t>(1, input.size(1)));
  if (name == "instance_norm") {
    return numel / static_cast<double>(std::max<std::int64_t>(1, input.size(0) * input.size(1)));
  }
  if (name == "group_norm" && call.args.size() > 1) {
    const auto* groups = call.args[1].as<std::int64_t>();
    const std::int64_t rows = input.size(0) * (groups == nullptr ? 1 : *groups);
    return numel / static_cast<double>(std::max<std::int64_t>(1, rows));
  }
  if (name == "layer_norm" || name == "rms_norm") {
    double extent = 1;
    const PyValue* shape = call.args.size() > 1 ? &call.args[1] : nullptr;
    for (const auto& [key, value] : call.kwargs) {
      if (key == "normalized_shape") shape = &value;
    }
    if (shape == nullptr) return numel;
    execute::for_each_leaf(*shape, [&](const PyValue& leaf) {
      if (const auto* size = leaf.as<std::int64_t>()) extent *= static_cast<double>(*size);
      if (const auto* sizes = leaf.as<dump::SizeValue>()) {
        for (const std::int64_t size : sizes->extents) extent *= static_cast<double>(size);
      }
    });
    return extent;
  }
  return static_cast<double>(input.size(-1));
}

double longest_extent(const at::Tensor& tensor) {
  std::int64_t longest = 1;
  for (const std::int64_t size : tensor.sizes()) longest = std::max(longest, size);
  return static_cast<double>(longest);
}

// Terms per element of the first output.
double forward_length(std::string_view name, const PyCall& call,
                      const std::vector<at::Tensor>& tensors, double largest) {
  switch (sums_of(name)) {
    case Sums::kContraction:
      return contracted_extent(name, tensors);
    case Sums::kConvolution: {
      const at::Tensor& weight = tensors[std::min<std::size_t>(1, tensors.size() - 1)];
      const std::int64_t channels = weight.dim() == 0 ? 1 : weight.size(0);
      return static_cast<double>(weight.numel()) /
             static_cast<double>(std::max<std::int64_t>(1, channels));
    }
    case Sums::kAlongDim:
      return longest_extent(tensors.front());
    case Sums::kNormalized:
      return normalized_extent(name, call, tensors.front());
    case Sums::kAll:
      return largest;
    case Sums::kByShape:
      break;
  }
  return 1;
}

}  // namespace

bool is_exact(std::string_view bare_name) { return std::ranges::binary_search(kExact, bare_name); }

Sums sums_of(std::string_view bare_name) {
  const auto row = std::ranges::lower_bound(kSums, bare_name, {}, &SumsRow::name);
  if (row != std::end(kSums) && row->name == bare_name) return row->sums;
  const bool mixes = std::ranges::any_of(kMixing, [&](std::string_view part) {
    return bare_name.find(part) != std::string_view::npos;
  });
  return mixes ? Sums::kAll : Sums::kByShape;
}

bool is_product(std::string_view bare_name) {
  constexpr std::string_view kMadeOfProducts[] = {
      "addbmm",
      "addbmm_",
      "addmv_",
      "addr",
      "addr_",
      "baddbmm_",
      "bilinear",
      "chain_matmul",
      "cholesky",
      "cholesky_inverse",
      "cholesky_solve",
      "corrcoef",
      "cov",
      "einsum",
      "gru",
      "lstm",
      "lu",
      "lu_solve",
      "matrix_exp",
      "matrix_power",
      "multi_head_attention_forward",
      "ormqr",
      "pinverse",
      "qr",
      "rnn_relu",
      "rnn_tanh",
      "scaled_dot_product_attention",
      "svd",
      "tensordot",
      "triangular_solve",
  };
  static_assert(std::ranges::is_sorted(kMadeOfProducts));
  const Sums sums = sums_of(bare_name);
  return sums == Sums::kContraction || sums == Sums::kConvolution ||
         bare_name.starts_with("linalg.") || std::ranges::binary_search(kMadeOfProducts, bare_name);
}

double reduction_length(std::string_view bare_name, const PyCall& call, std::int64_t forward_numel,
                        std::int64_t result_numel, bool gradient) {
  const std::vector<at::Tensor> tensors = float_tensors(call);
  if (tensors.empty()) return 1;
  auto largest = static_cast<double>(std::max<std::int64_t>(1, forward_numel));
  for (const at::Tensor& tensor : tensors) {
    largest = std::max(largest, static_cast<double>(tensor.numel()));
  }
  const auto results = static_cast<double>(std::max<std::int64_t>(1, result_numel));
  const double terms = std::max(1.0, forward_length(bare_name, call, tensors, largest));
  const Sums sums = sums_of(bare_name);
  const bool products = sums == Sums::kContraction || sums == Sums::kConvolution;
  if (!gradient || !products) return std::max(terms, largest / results);
  // Backward sums the same products over other extents: there are as many in all.
  const double all = terms * static_cast<double>(std::max<std::int64_t>(1, forward_numel));
  return std::max(1.0, all / results);
}

}  // namespace msprobe::strict
