// SPDX-License-Identifier: Apache-2.0
#include "ops/mindspore_names.h"

#include <algorithm>
#include <array>

namespace msprobe::ops {
namespace {

constexpr std::string_view kDimKeep = "input, dim|axis=None, keepdim|keepdims|keep_dims=False";
constexpr std::string_view kLoss = "input, target, reduction='mean'";
constexpr std::string_view kLossOn = "input target reduction=reduction";
constexpr std::string_view kBceLogits =
    "input, target, weight=None, reduction='mean', pos_weight=None";
constexpr std::string_view kBceLogitsOn =
    "input target weight=weight reduction=reduction pos_weight=pos_weight";
constexpr std::string_view kSoftmax = "input, dim=None, dtype=None";
constexpr std::string_view kSoftmaxOn = "input dim=dim dtype=dtype";
constexpr std::string_view kEmbedding =
    "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False";
constexpr std::string_view kEmbeddingOn =
    "input weight padding_idx=padding_idx max_norm=max_norm norm_type=norm_type "
    "scale_grad_by_freq=scale_grad_by_freq";
constexpr std::string_view kGridSample =
    "input, grid, mode='bilinear', padding_mode='zeros', align_corners=False";
constexpr std::string_view kGridSampleOn =
    "input grid mode=mode padding_mode=padding_mode align_corners=align_corners";
constexpr std::string_view kLinear = "input, weight, bias=None";

constexpr std::string_view kCommunication = "Distributed";
constexpr MindSporeGroup kChecked[] = {
    {"Mint", {"Torch", "Functional", "Tensor"}},
    {"MintFunctional", {"Functional", "Torch"}},
    {"Tensor", {"Tensor"}},
};
// Groups that are recorded and compared, but never run.
constexpr MindSporeGroup kCompared[] = {
    {"Functional", {"Functional", "Torch", "Tensor"}},  // mindspore.ops
    {"Distributed", {kCommunication}},
    {"MintDistributed", {kCommunication}},
};

constexpr RenamedRow kRenamed[] = {
    // Arguments in another order, or with other defaults and names
    {"Mint.amax", "Torch.amax", "input, dim=[], keepdim=False", "input dim=dim keepdim=keepdim"},
    {"Mint.amin", "Torch.amin", "input, dim=[], keepdim=False", "input dim=dim keepdim=keepdim"},
    {"Mint.arcsin", "Torch.arcsin", "input|x", "input"},
    {"Mint.binary_cross_entropy_with_logits", "Functional.binary_cross_entropy_with_logits",
     kBceLogits, kBceLogitsOn},
    {"Mint.embedding", "Functional.embedding", kEmbedding, kEmbeddingOn},
    {"Mint.grid_sample", "Functional.grid_sample", kGridSample, kGridSampleOn},
    {"Mint.nansum", "Torch.nansum", "input, dim=None, keepdim=False, *, dtype=None",
     "input dim=dim keepdim=keepdim dtype=dtype"},
    {"Mint.topk", "Torch.topk", "input, k, dim=-1, largest=True, sorted=True",
     "input k dim=dim largest=largest sorted=sorted"},
    {"MintFunctional.bce_with_logits", "Functional.binary_cross_entropy_with_logits", kBceLogits,
     kBceLogitsOn},
    {"MintFunctional.binary_cross_entropy", "Functional.binary_cross_entropy",
     "input, target, weight=None, reduction='mean'",
     "input target weight=weight reduction=reduction"},
    {"MintFunctional.binary_cross_entropy_with_logits",
     "Functional.binary_cross_entropy_with_logits", kBceLogits, kBceLogitsOn},
    {"MintFunctional.cosine_embedding_loss", "Functional.cosine_embedding_loss",
     "input1, input2, target, margin=0.0, reduction='mean'",
     "input1 input2 target margin=margin reduction=reduction"},
    {"MintFunctional.cross_entropy", "Functional.cross_entropy",
     "input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0",
     "input target weight=weight ignore_index=ignore_index reduction=reduction "
     "label_smoothing=label_smoothing"},
    {"MintFunctional.embedding", "Functional.embedding", kEmbedding, kEmbeddingOn},
    {"MintFunctional.gelu", "Functional.gelu", "input, approximate='none'",
     "input approximate=approximate"},
    {"MintFunctional.grid_sample", "Functional.grid_sample", kGridSample, kGridSampleOn},
    {"MintFunctional.kl_div", "Functional.kl_div",
     "input, target, reduction='mean', log_target=False",
     "input target reduction=reduction log_target=log_target"},
    {"MintFunctional.l1_loss", "Functional.l1_loss", kLoss, kLossOn},
    {"MintFunctional.log_softmax", "Functional.log_softmax", kSoftmax, kSoftmaxOn},
    {"MintFunctional.margin_ranking_loss", "Functional.margin_ranking_loss",
     "input1, input2, target, margin=0.0, reduction='mean'",
     "input1 input2 target margin=margin reduction=reduction"},
    {"MintFunctional.mse_loss", "Functional.mse_loss", kLoss, kLossOn},
    {"MintFunctional.nll_loss", "Functional.nll_loss",
     "input, target, weight=None, ignore_index=-100, reduction='mean'",
     "input target weight=weight ignore_index=ignore_index reduction=reduction"},
    {"MintFunctional.smooth_l1_loss", "Functional.smooth_l1_loss",
     "input, target, reduction='mean', beta=1.0", "input target reduction=reduction beta=beta"},
    {"MintFunctional.soft_margin_loss", "Functional.soft_margin_loss", kLoss, kLossOn},
    {"MintFunctional.softmax", "Functional.softmax", kSoftmax, kSoftmaxOn},
    {"MintFunctional.softmax_ex", "Functional.softmax", kSoftmax, kSoftmaxOn},
    {"MintFunctional.triplet_margin_loss", "Functional.triplet_margin_loss",
     "anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, reduction='mean'",
     "anchor positive negative margin=margin p=p eps=eps swap=swap reduction=reduction"},
    {"Tensor.all", "Torch.all", kDimKeep, "input dim=dim keepdim=keepdim"},
    {"Tensor.any", "Torch.any", kDimKeep, "input dim=dim keepdim=keepdim"},
    {"Tensor.mean", "Torch.mean",
     "input, dim|axis=None, keepdim|keepdims|keep_dims=False, *, dtype=None",
     "input dim=dim keepdim=keepdim dtype=dtype"},
    {"Tensor.prod", "Torch.prod",
     "input, dim|axis=None, keepdim|keepdims|keep_dims=False, dtype=None",
     "input dim=dim keepdim=keepdim dtype=dtype"},
    {"Tensor.split", "Tensor.split",
     "self, split_size|split_size_or_sections|indices_or_sections, dim|axis=0",
     "self split_size dim=dim"},
    {"Tensor.sum", "Torch.sum",
     "input, dim|axis=None, keepdim|keepdims|keep_dims=False, dtype=None",
     "input dim=dim keepdim=keepdim dtype=dtype"},
    {"Tensor.topk", "Torch.topk", "input, k, dim=-1, largest=True, sorted=True",
     "input k dim=dim largest=largest sorted=sorted"},

    // Other names
    {"Tensor.astype", "Tensor.to", "self, dtype, copy=True", "self dtype=dtype"},
    {"Tensor.expand_dims", "Torch.unsqueeze", "input, axis", "input dim=axis"},
    {"Tensor.inv", "Torch.reciprocal", "", ""},
    {"Tensor.invert", "Torch.bitwise_not", "", ""},
    {"Mint.avg_pool2d", "Functional.avg_pool2d", "", ""},
    {"Mint.batch_norm", "Functional.batch_norm", "", ""},
    {"Mint.conv2d", "Functional.conv2d", "", ""},
    {"Mint.conv_transpose2d", "Functional.conv_transpose2d", "", ""},
    {"Mint.dropout", "Functional.dropout", "", ""},
    {"Mint.fold", "Functional.fold", "", ""},
    {"Mint.gelu", "Functional.gelu", "input, approximate='none'", "input approximate=approximate"},
    {"Mint.group_norm", "Functional.group_norm", "", ""},
    {"Mint.interpolate", "Functional.interpolate", "", ""},
    {"Mint.item", "Tensor.item", "", ""},
    {"Mint.layer_norm", "Functional.layer_norm", "", ""},
    {"Mint.leaky_relu", "Functional.leaky_relu", "", ""},
    {"Mint.linear", "Functional.linear", kLinear, "input weight bias=bias"},
    {"Mint.max_pool2d", "Functional.max_pool2d", "", ""},
    {"Mint.one_hot", "Functional.one_hot", "", ""},
    {"Mint.pad", "Functional.pad", "", ""},
    {"Mint.relu", "Functional.relu", "", ""},
    {"Mint.silu", "Functional.silu", "", ""},
    {"Mint.softplus", "Functional.softplus", "", ""},
    {"Mint.unfold", "Functional.unfold", "", ""},
    {"MintFunctional.dense", "Functional.linear", kLinear, "input weight bias=bias"},
    {"MintFunctional.normal", "Torch.normal", "", ""},
    {"MintFunctional.one_hot_ext", "Functional.one_hot", "", ""},
};

void add_groups(std::span<const MindSporeGroup> groups, std::string_view group,
                std::string_view bare_name, std::vector<std::string>& names) {
  const auto row = std::ranges::find(groups, group, &MindSporeGroup::group);
  if (row == groups.end()) return;
  for (const std::string_view torch : row->torch) {
    if (!torch.empty()) names.push_back(std::string(torch) + "." + std::string(bare_name));
  }
  if (row->torch.front() == kCommunication) return;
  // Operators that the lists of the collector lack are recorded below autograd.
  std::string& aten = names.emplace_back("Aten." + std::string(bare_name));
  std::ranges::replace(aten.begin() + 5, aten.end(), '.', '_');
}

void add_names(std::string_view api, std::vector<std::string>& names) {
  const std::size_t dot = api.find('.');
  if (dot == std::string_view::npos) return;
  if (api == kMindSporeAttention) names.emplace_back(kTorchAttention);
  const auto* const renamed = std::ranges::find(kRenamed, api, &RenamedRow::api);
  if (renamed != std::end(kRenamed)) names.emplace_back(renamed->torch);
  const std::string_view group = api.substr(0, dot);
  const std::string_view bare_name = api.substr(dot + 1);
  add_groups(kChecked, group, bare_name, names);
  add_groups(kCompared, group, bare_name, names);
}

}  // namespace

std::span<const RenamedRow> mindspore_renamed() { return kRenamed; }

std::span<const MindSporeGroup> mindspore_groups() { return kChecked; }

std::vector<std::string> torch_names_of(std::string_view api) {
  std::vector<std::string> names;
  add_names(api, names);
  if (api.ends_with(kInternal)) add_names(api.substr(0, api.size() - kInternal.size()), names);
  return names;
}

}  // namespace msprobe::ops
