// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/losses.h"

#include "execute/npu/bounded.h"
#include "libtorch/custom_function.h"

namespace msprobe::execute::npu {
namespace {

// What each row counts: the weight of its class, or 0 where it is ignored.
struct RowWeights {
  at::Tensor target;     // (N, 1)
  at::Tensor counts;     // (N, 1): 0 or 1
  at::Tensor classes;    // (1, C)
  at::Tensor of_target;  // (N, 1)
};

RowWeights row_weights(const at::Tensor& log_prob, const at::Tensor& target,
                       const CrossEntropy& options) {
  RowWeights weights;
  weights.target = target.to(at::kLong).reshape({-1, 1});
  const auto wide = log_prob.options();
  weights.counts = at::ones({weights.target.size(0), 1}, wide);
  if (options.ignore_index >= 0) {
    weights.counts = weights.target.ne(options.ignore_index).to(wide.dtype());
  }
  weights.classes = options.weight.defined() ? options.weight.to(wide.dtype()).reshape({1, -1})
                                             : at::ones({1, log_prob.size(1)}, wide);
  const at::Tensor safe = weights.target.clamp(0, log_prob.size(1) - 1);
  weights.target = safe;
  weights.of_target = weights.classes.expand_as(log_prob).gather(1, safe) * weights.counts;
  return weights;
}

at::Tensor reduced(const at::Tensor& plain, const at::Tensor& smooth, const RowWeights& weights,
                   const CrossEntropy& options, std::int64_t classes) {
  const double e = options.label_smoothing;
  const at::Tensor rows = plain * (1 - e) + smooth * (e / static_cast<double>(classes));
  if (options.reduction == "none") return rows.reshape(-1);
  const at::Tensor sum = rows.sum().reshape({1});
  return options.reduction == "sum" ? sum : sum / weights.of_target.sum();
}

class Loss : public torch::autograd::Function<Loss> {
 public:
  using Context = torch::autograd::AutogradContext;
  using Tensors = torch::autograd::variable_list;

  static Tensors forward(Context* context, const at::Tensor& input, const at::Tensor& target,
                         const CrossEntropy& options) {
    const at::Tensor log_prob = at::log_softmax(input.to(at::kDouble), 1);
    const at::Tensor loss = loss_of(log_prob, target, options);
    const at::Tensor kept = rounded_once(log_prob, input.scalar_type());
    context->save_for_backward({kept, target, options.weight});
    context->saved_data["reduction"] = options.reduction;
    context->saved_data["ignore_index"] = options.ignore_index;
    context->saved_data["label_smoothing"] = options.label_smoothing;
    context->mark_non_differentiable({kept});
    return {rounded_once(loss, input.scalar_type()), kept};
  }

  static Tensors backward(Context* context, const Tensors& grads) {
    const Tensors saved = context->get_saved_variables();
    const CrossEntropy options{
        .weight = saved[2],
        .reduction = context->saved_data["reduction"].toStringRef(),
        .ignore_index = context->saved_data["ignore_index"].toInt(),
        .label_smoothing = context->saved_data["label_smoothing"].toDouble()};
    return {npu_cross_entropy_loss_backward(grads[0], saved[0], saved[1], options), at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

at::Tensor loss_of(const at::Tensor& log_prob, const at::Tensor& target,
                   const CrossEntropy& options) {
  const RowWeights weights = row_weights(log_prob, target, options);
  const at::Tensor plain = -log_prob.gather(1, weights.target) * weights.of_target;
  const at::Tensor smooth = -(log_prob * weights.classes).sum(1, /*keepdim=*/true) * weights.counts;
  return reduced(plain, smooth, weights, options, log_prob.size(1));
}

std::tuple<at::Tensor, at::Tensor> npu_cross_entropy_loss(const at::Tensor& input,
                                                          const at::Tensor& target,
                                                          const CrossEntropy& options) {
  TORCH_CHECK(input.dim() == 2 && target.numel() == input.size(0),
              "npu_cross_entropy_loss: input of shape ", input.sizes(), " and target of shape ",
              target.sizes());
  const auto outputs = Loss::apply(input, target, options);
  return {outputs[0], outputs[1]};
}

at::Tensor npu_cross_entropy_loss_backward(const at::Tensor& grad, const at::Tensor& log_prob,
                                           const at::Tensor& target, const CrossEntropy& options) {
  const at::Tensor wide = log_prob.to(at::kDouble);
  const RowWeights weights = row_weights(wide, target, options);
  at::Tensor each = grad.to(at::kDouble).reshape({-1, 1});
  if (options.reduction == "mean") each = each / weights.of_target.sum();
  const double e = options.label_smoothing;
  const at::Tensor one_hot =
      at::zeros_like(wide).scatter(1, weights.target, weights.of_target * (1 - e));
  const at::Tensor smooth =
      weights.classes * weights.counts * (e / static_cast<double>(wide.size(1)));
  const at::Tensor of_logs = -(one_hot + smooth) * each;
  const at::Tensor found = of_logs - wide.exp() * of_logs.sum(1, /*keepdim=*/true);
  return rounded_once(found, log_prob.scalar_type());
}

}  // namespace msprobe::execute::npu
