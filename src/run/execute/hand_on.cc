// SPDX-License-Identifier: Apache-2.0
#include "execute/hand_on.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "execute/api.h"

namespace msprobe::execute {
namespace {

constexpr HandOnRow kRows[] = {
    // Activations
    {"Functional.celu", "input, alpha=1.0, inplace=False", "celu", "input alpha"},
    {"Functional.elu", "input, alpha=1.0, inplace=False", "elu", "input alpha"},
    {"Functional.hardsigmoid", "input, inplace=False", "hardsigmoid", "input"},
    {"Functional.hardswish", "input, inplace=False", "hardswish", "input"},
    {"Functional.hardtanh", "input, min_val=-1.0, max_val=1.0, inplace=False", "hardtanh",
     "input min_val max_val"},
    {"Functional.leaky_relu", "input, negative_slope=0.01, inplace=False", "leaky_relu",
     "input negative_slope"},
    {"Functional.logsigmoid", "input", "log_sigmoid", "input"},
    {"Functional.mish", "input, inplace=False", "mish", "input"},
    {"Functional.relu", "input, inplace=False", "relu", "input"},
    {"Functional.relu6", "input, inplace=False", "relu6", "input"},
    {"Functional.rrelu",
     "input, lower=0.125, upper=0.3333333333333333, training=False, inplace=False", "rrelu",
     "input lower upper training"},
    {"Functional.selu", "input, inplace=False", "selu", "input"},
    {"Functional.silu", "input, inplace=False", "silu", "input"},
    {"Functional.threshold", "input, threshold, value, inplace=False", "threshold",
     "input threshold value"},
    // Dropout
    {"Functional.alpha_dropout", "input, p=0.5, training=False, inplace=False", "alpha_dropout",
     "input p training"},
    {"Functional.dropout", "input, p=0.5, training=True, inplace=False", "dropout",
     "input p training"},
    {"Functional.dropout2d", "input, p=0.5, training=True, inplace=False", "feature_dropout",
     "input p training"},
    {"Functional.feature_alpha_dropout", "input, p=0.5, training=False, inplace=False",
     "feature_alpha_dropout", "input p training"},
    // Normalisation; the last argument lets a device use its own library
    {"Functional.batch_norm",
     "input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, "
     "eps=1e-05",
     "batch_norm", "input weight bias running_mean running_var training momentum eps True"},
    {"Functional.group_norm", "input, num_groups, weight=None, bias=None, eps=1e-05", "group_norm",
     "input num_groups weight bias eps True"},
    {"Functional.instance_norm",
     "input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, "
     "momentum=0.1, eps=1e-05",
     "instance_norm",
     "input weight bias running_mean running_var use_input_stats momentum eps True"},
    {"Functional.layer_norm", "input, normalized_shape, weight=None, bias=None, eps=1e-05",
     "layer_norm", "input normalized_shape weight bias eps True"},
    // Losses
    {"Functional.binary_cross_entropy_with_logits",
     "input, target, weight=None, size_average=None, reduce=None, reduction='mean', "
     "pos_weight=None",
     "binary_cross_entropy_with_logits", "input target weight pos_weight reduction"},
    {"Functional.cosine_embedding_loss",
     "input1, input2, target, margin=0, size_average=None, reduce=None, reduction='mean'",
     "cosine_embedding_loss", "input1 input2 target margin reduction"},
    {"Functional.cross_entropy",
     "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, "
     "reduction='mean', label_smoothing=0.0",
     "cross_entropy_loss", "input target weight reduction ignore_index label_smoothing"},
    {"Functional.ctc_loss",
     "log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', "
     "zero_infinity=False",
     "ctc_loss", "log_probs targets input_lengths target_lengths blank reduction zero_infinity"},
    {"Functional.hinge_embedding_loss",
     "input, target, margin=1.0, size_average=None, reduce=None, reduction='mean'",
     "hinge_embedding_loss", "input target margin reduction"},
    {"Functional.margin_ranking_loss",
     "input1, input2, target, margin=0, size_average=None, reduce=None, reduction='mean'",
     "margin_ranking_loss", "input1 input2 target margin reduction"},
    {"Functional.multi_margin_loss",
     "input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, "
     "reduction='mean'",
     "multi_margin_loss", "input target p margin weight reduction"},
    {"Functional.multilabel_margin_loss",
     "input, target, size_average=None, reduce=None, reduction='mean'", "multilabel_margin_loss",
     "input target reduction"},
    {"Functional.nll_loss",
     "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, "
     "reduction='mean'",
     "nll_loss_nd", "input target weight reduction ignore_index"},
    {"Functional.poisson_nll_loss",
     "input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, "
     "reduction='mean'",
     "poisson_nll_loss", "input target log_input full eps reduction"},
    {"Functional.soft_margin_loss",
     "input, target, size_average=None, reduce=None, reduction='mean'", "soft_margin_loss",
     "input target reduction"},
    {"Functional.triplet_margin_loss",
     "anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, size_average=None, "
     "reduce=None, reduction='mean'",
     "triplet_margin_loss", "anchor positive negative margin p eps swap reduction"},
    // Patches
    {"Functional.fold", "input, output_size, kernel_size, dilation=1, padding=0, stride=1",
     "col2im", "input output_size:2 kernel_size:2 dilation:2 padding:2 stride:2"},
    {"Functional.unfold", "input, kernel_size, dilation=1, padding=0, stride=1", "im2col",
     "input kernel_size:2 dilation:2 padding:2 stride:2"},
    // Lists that Python takes as further positional arguments
    {"Torch.block_diag", "*tensors", "block_diag", "tensors"},
    {"Torch.broadcast_tensors", "*tensors", "broadcast_tensors", "tensors"},
    {"Torch.cartesian_prod", "*tensors", "cartesian_prod", "tensors"},
    // Sparse products under their older names
    {"Torch.dsmm", "input, mat2", "mm", "input mat2"},
    {"Torch.hsmm", "mat1, mat2", "hspmm", "mat1 mat2"},
    {"Torch.spmm", "input, mat2", "mm", "input mat2"},
};

PyValue widened(const PyValue& value, std::size_t count) {
  const auto integer = as_integer(value);
  if (!integer) return value;
  return {PyList(count, PyValue{*integer})};
}

PyValue argument_of(std::string_view word, const Bound& a) {
  if (word == "True") return {true};
  if (word == "reduction") return {reduction_of(a)};
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) return a.value(word);
  std::size_t count = 0;
  std::from_chars(word.data() + colon + 1, word.data() + word.size(), count);
  return widened(a.value(word.substr(0, colon)), count);
}

bool is_inplace(const HandOnRow& row, const Bound& a) {
  return row.signature.ends_with("inplace=False") && a.boolean("inplace");
}

}  // namespace

const HandOnRow* find_hand_on(std::string_view api) {
  const auto found = std::ranges::find(kRows, api, &HandOnRow::api);
  return found == std::end(kRows) ? nullptr : found;
}

PyValue hand_on(const HandOnRow& row, const Bound& a) {
  PyCall call;
  std::string_view left = row.arguments;
  while (!left.empty()) {
    const std::size_t space = left.find(' ');
    call.args.push_back(argument_of(left.substr(0, space), a));
    left.remove_prefix(space == std::string_view::npos ? left.size() : space + 1);
  }
  if (is_inplace(row, a)) return call_aten(fmt::format("{}_", row.aten), call);
  return call_aten(row.aten, call);
}

std::int64_t reduction_of(const Bound& a) {
  const auto flag = [&](std::string_view name) {
    return a.has(name) && !a.is_none(name) ? std::optional(a.boolean(name)) : std::nullopt;
  };
  const auto average = flag("size_average");
  const auto reduce = flag("reduce");
  if (average || reduce) {
    if (!reduce.value_or(true)) return 0;
    return average.value_or(true) ? 1 : 2;
  }
  const std::string& text = a.text("reduction");
  if (text == "none") return 0;
  if (text == "mean" || text == "elementwise_mean") return 1;
  if (text == "sum" || text == "batchmean") return 2;
  throw BindError(fmt::format("{} is not a valid value for reduction", text));
}

}  // namespace msprobe::execute
