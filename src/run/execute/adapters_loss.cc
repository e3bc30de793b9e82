// SPDX-License-Identifier: Apache-2.0
// Losses that Python composes.
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "execute/api.h"
#include "execute/hand_on.h"

namespace msprobe::execute {
namespace {

constexpr std::int64_t kNoReduction = 0;
constexpr std::int64_t kMean = 1;

at::Tensor reduced(const at::Tensor& loss, std::int64_t reduction) {
  if (reduction == kNoReduction) return loss;
  return reduction == kMean ? loss.mean() : loss.sum();
}

// A weighted loss whose mean is taken over the weights.
at::Tensor weighted(const at::Tensor& loss, const Bound& a) {
  const at::Tensor& weight = a.tensor("weight");
  if (weight.sizes() != a.tensor("input").sizes()) {
    throw BindError("Weights and input must have the same size.");
  }
  const at::Tensor product = loss * weight;
  const std::int64_t reduction = reduction_of(a);
  return reduction == kMean ? product.sum() / weight.sum() : reduced(product, reduction);
}

std::vector<at::Tensor> broadcast(const Bound& a) {
  return at::broadcast_tensors({a.tensor("input"), a.tensor("target")});
}

PyValue l1_loss(const Bound& a) {
  const auto both = broadcast(a);
  if (!a.is_none("weight")) return {weighted(at::abs(both[0] - both[1]), a)};
  return {at::l1_loss(both[0], both[1], reduction_of(a))};
}

PyValue mse_loss(const Bound& a) {
  const auto both = broadcast(a);
  if (!a.is_none("weight")) return {weighted(at::pow(both[0] - both[1], 2), a)};
  return {at::mse_loss(both[0], both[1], reduction_of(a))};
}

PyValue smooth_l1_loss(const Bound& a) {
  const auto both = broadcast(a);
  const double beta = a.real("beta");
  if (beta == 0) return {at::l1_loss(both[0], both[1], reduction_of(a))};
  return {at::smooth_l1_loss(both[0], both[1], reduction_of(a), beta)};
}

PyValue huber_loss(const Bound& a) {
  const auto both = broadcast(a);
  const double delta = a.real("delta");
  if (a.is_none("weight")) return {at::huber_loss(both[0], both[1], reduction_of(a), delta)};
  const at::Tensor loss = at::huber_loss(both[0], both[1], kNoReduction, delta);
  return {reduced(loss * a.tensor("weight"), reduction_of(a))};
}

PyValue binary_cross_entropy(const Bound& a) {
  const at::Tensor& target = a.tensor("target");
  c10::optional<at::Tensor> weight = a.opt_tensor("weight");
  if (weight) weight = weight->expand(at::infer_size(target.sizes(), weight->sizes()));
  return {at::binary_cross_entropy(a.tensor("input"), target, weight, reduction_of(a))};
}

PyValue kl_div(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  const at::Tensor loss =
      at::kl_div(input, a.tensor("target"), reduction_of(a), a.boolean("log_target"));
  const bool legacy = !a.is_none("size_average") || !a.is_none("reduce");
  if (!legacy && a.text("reduction") == "batchmean" && input.dim() != 0) {
    return {loss / input.size(0)};
  }
  return {loss};
}

at::Tensor variance_of(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  at::Tensor var = a.value("var").as<at::Tensor>() != nullptr
                       ? a.tensor("var")
                       : at::ones_like(input) * a.real("var");
  if (var.sizes() != input.sizes() &&
      var.sizes() == input.sizes().slice(0, input.sizes().size() - 1)) {
    var = var.unsqueeze(-1);
  }
  var = var.clone();
  const at::NoGradGuard no_grad;
  return var.clamp_(a.scalar("eps"));
}

PyValue gaussian_nll_loss(const Bound& a) {
  const at::Tensor var = variance_of(a);
  at::Tensor loss = 0.5 * (at::log(var) + at::pow(a.tensor("input") - a.tensor("target"), 2) / var);
  if (a.boolean("full")) loss += 0.5 * std::log(2 * std::numbers::pi);
  return {reduced(loss, reduction_of(a))};
}

PyValue multilabel_soft_margin_loss(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  const at::Tensor& target = a.tensor("target");
  at::Tensor loss = -(target * at::log_sigmoid(input) + (1 - target) * at::log_sigmoid(-input));
  if (!a.is_none("weight")) loss = loss * a.tensor("weight");
  const std::int64_t last = input.dim() - 1;
  return {reduced(loss.sum(last) / input.size(last), reduction_of(a))};
}

PyValue triplet_margin_with_distance_loss(const Bound& a) {
  if (!a.is_none("distance_function")) {
    throw BindError("a distance function cannot be rebuilt from a dump");
  }
  const at::Tensor positive = at::pairwise_distance(a.tensor("anchor"), a.tensor("positive"));
  at::Tensor negative = at::pairwise_distance(a.tensor("anchor"), a.tensor("negative"));
  if (a.boolean("swap")) {
    negative =
        at::minimum(negative, at::pairwise_distance(a.tensor("positive"), a.tensor("negative")));
  }
  const at::Tensor loss = at::clamp_min(positive + a.scalar("margin") - negative, 0);
  return {reduced(loss, reduction_of(a))};
}

constexpr std::string_view kWeighted =
    "input, target, size_average=None, reduce=None, reduction='mean', weight=None";
constexpr ApiRow kLossRows[] = {
    {"Functional.binary_cross_entropy",
     "input, target, weight=None, size_average=None, reduce=None, reduction='mean'",
     &binary_cross_entropy},
    {"Functional.gaussian_nll_loss", "input, target, var, full=False, eps=1e-06, reduction='mean'",
     &gaussian_nll_loss},
    {"Functional.huber_loss", "input, target, reduction='mean', delta=1.0, weight=None",
     &huber_loss},
    {"Functional.kl_div",
     "input, target, size_average=None, reduce=None, reduction='mean', log_target=False", &kl_div},
    {"Functional.l1_loss", kWeighted, &l1_loss},
    {"Functional.mse_loss", kWeighted, &mse_loss},
    {"Functional.multilabel_soft_margin_loss",
     "input, target, weight=None, size_average=None, reduce=None, reduction='mean'",
     &multilabel_soft_margin_loss},
    {"Functional.smooth_l1_loss",
     "input, target, size_average=None, reduce=None, reduction='mean', beta=1.0", &smooth_l1_loss},
    {"Functional.triplet_margin_with_distance_loss",
     "anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, "
     "reduction='mean'",
     &triplet_margin_with_distance_loss},
};

}  // namespace

std::span<const ApiRow> loss_rows() { return kLossRows; }

}  // namespace msprobe::execute
