// SPDX-License-Identifier: Apache-2.0
// Activations and losses, with their gradients.
#include "operator.h"

using namespace cann;

// What CANN's kernels of the 910B do: no formula can be chosen.
OPERATOR(Gelu, (T self, T out), out = at::gelu(self))
OPERATOR(GeluBackward, (T grad, T self, T out), out = at::gelu_backward(grad, self))
OPERATOR(GeluV2, (T self, int64_t tanh, T out), out = at::gelu(self, tanh != 0 ? "tanh" : "none"))
OPERATOR_WITH_TEXT(GeluBackwardV2, (T grad, T self, const char* text, T out),
                   out = at::gelu_backward(grad, self, text))
OPERATOR(SiluBackward, (T grad, T self, T out), out = at::silu_backward(grad, self))
OPERATOR(SigmoidBackward, (T grad, T result, T out), out = at::sigmoid_backward(grad, result))
OPERATOR(TanhBackward, (T grad, T result, T out), out = at::tanh_backward(grad, result))
OPERATOR(Threshold, (T self, S threshold, S value, T out),
         out = at::threshold(self, threshold, value))
OPERATOR(InplaceThreshold, (T self, S threshold, S value),
         self = at::threshold(self, threshold, value))
OPERATOR(ThresholdBackward, (T grad, T self, S threshold, T out),
         out = at::threshold_backward(grad, self, threshold))
OPERATOR(LeakyRelu, (T self, S slope, T out), out = at::leaky_relu(self, slope))
OPERATOR(InplaceLeakyRelu, (T self, S slope), self = at::leaky_relu(self, slope))
OPERATOR(LeakyReluBackward, (T grad, T self, S slope, bool is_result, T out),
         out = at::leaky_relu_backward(grad, self, slope, is_result))
OPERATOR(Softplus, (T self, S beta, S threshold, T out), out = at::softplus(self, beta, threshold))
OPERATOR(SoftplusBackward, (T grad, T self, S beta, S threshold, T out),
         out = at::softplus_backward(grad, self, beta, threshold))
OPERATOR(Elu, (T self, S alpha, S scale, S input_scale, T out),
         out = at::elu(self, alpha, scale, input_scale))
OPERATOR(InplaceElu, (T self, S alpha, S scale, S input_scale),
         self = at::elu(self, alpha, scale, input_scale))
OPERATOR(EluBackward, (T grad, S alpha, S scale, S input_scale, bool is_result, T value, T out),
         out = at::elu_backward(grad, alpha, scale, input_scale, is_result, value))
OPERATOR(Celu, (T self, S alpha, T out), out = at::celu(self, alpha))
OPERATOR(InplaceCelu, (T self, S alpha), self = at::celu(self, alpha))
OPERATOR(Hardtanh, (T self, S low, S high, T out), out = at::hardtanh(self, low, high))
OPERATOR(InplaceHardtanh, (T self, S low, S high), self = at::hardtanh(self, low, high))
OPERATOR(HardtanhBackward, (T grad, T self, S low, S high, T out),
         out = at::hardtanh_backward(grad, self, low, high))
OPERATOR(HardswishBackward, (T grad, T self, T out), out = at::hardswish_backward(grad, self))
OPERATOR(HardswishBackwardV2, (T grad, T self, T out), out = at::hardswish_backward(grad, self))
OPERATOR(HardsigmoidBackward, (T grad, T self, T out), out = at::hardsigmoid_backward(grad, self))
OPERATOR(MishBackward, (T grad, T self, T out), out = at::mish_backward(grad, self))
OPERATOR(Softshrink, (T self, S lambda, T out), out = at::softshrink(self, lambda))
OPERATOR(SoftshrinkBackward, (T grad, T self, S lambda, T out),
         out = at::softshrink_backward(grad, self, lambda))
OPERATOR(Hardshrink, (T self, S lambda, T out), out = at::hardshrink(self, lambda))
OPERATOR(HardshrinkBackward, (T grad, T self, S lambda, T out),
         out = at::hardshrink_backward(grad, self, lambda))
OPERATOR(LogSigmoidForward, (T self, T out, T buffer), out = at::log_sigmoid(self))
OPERATOR(LogSigmoidBackward, (T grad, T self, T buffer, T out),
         out = at::log_sigmoid_backward(grad, self, at::exp(at::neg(at::abs(self)))))
// The weight comes as it is, or already spread over the dimensions of the input.
namespace {
at::Tensor spread(const T& weight, const at::Tensor& x) {
  if ((*weight).dim() > 1 || (*weight).numel() == 1) return *weight;
  std::vector<int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = (*weight).numel();
  return (*weight).reshape(shape);
}
}  // namespace
OPERATOR(Prelu, (T self, T weight, T out),
         out = at::where(*self > 0, *self, spread(weight, *self) * *self))
OPERATOR(PreluBackward, (T grad, T self, T weight, T grad_self, T grad_weight), {
  const at::Tensor x = *self, g = *grad;
  const at::Tensor w = spread(weight, x);
  grad_self = at::where(x > 0, g, w * g);
  grad_weight = at::where(x > 0, at::zeros_like(g), x * g)
                    .sum_to_size(w.dim() > x.dim() ? x.sizes() : w.sizes())
                    .reshape((*weight).sizes());
})
OPERATOR(Glu, (T self, int64_t dim, T out), out = at::glu(self, dim))
OPERATOR(GluBackward, (T grad, T self, int64_t dim, T out), out = at::glu_backward(grad, self, dim))
OPERATOR(Logit, (T self, double eps, T out), out = eps < 0 ? at::logit(self) : at::logit(self, eps))
OPERATOR(LogitGrad, (T self, T grad, double eps, T out),
         out = eps < 0 ? at::logit_backward(grad, self) : at::logit_backward(grad, self, eps))
OPERATOR(Softmax, (T self, int64_t dim, T out), out = at::_softmax(self, dim, false))
OPERATOR(LogSoftmax, (T self, int64_t dim, T out), out = at::_log_softmax(self, dim, false))
OPERATOR(SoftmaxBackward, (T grad, T result, int64_t dim, T out),
         out = at::_softmax_backward_data(grad, result, dim, (*result).scalar_type()))
OPERATOR(LogSoftmaxBackward, (T grad, T result, int64_t dim, T out),
         out = at::_log_softmax_backward_data(grad, result, dim, (*result).scalar_type()))

OPERATOR(MseLoss, (T self, T target, int64_t reduction, T out),
         out = at::mse_loss(self, target, reduction))
OPERATOR(MseLossBackward, (T grad, T self, T target, int64_t reduction, T out),
         out = at::mse_loss_backward(grad, self, target, reduction))
OPERATOR(L1Loss, (T self, T target, int64_t reduction, T out),
         out = at::l1_loss(self, target, reduction))
OPERATOR(L1LossBackward, (T grad, T self, T target, int64_t reduction, T out), {
  const at::Tensor sign = at::sign(at::sub(self, target)) * *grad;
  out = reduction == at::Reduction::Mean ? sign / (*self).numel() : sign;
})
OPERATOR(SmoothL1Loss, (T self, T target, int64_t reduction, float beta, T out),
         out = at::smooth_l1_loss(self, target, reduction, beta))
OPERATOR(SmoothL1LossBackward, (T grad, T self, T target, int64_t reduction, float beta, T out),
         out = at::smooth_l1_loss_backward(grad, self, target, reduction, beta))
OPERATOR(SoftMarginLoss, (T self, T target, int64_t reduction, T out),
         out = at::soft_margin_loss(self, target, reduction))
OPERATOR(SoftMarginLossBackward, (T grad, T self, T target, int64_t reduction, T out),
         out = at::soft_margin_loss_backward(grad, self, target, reduction))
OPERATOR(BinaryCrossEntropy, (T self, T target, T weight, int64_t reduction, T out),
         out = at::binary_cross_entropy(self, target, weight, reduction))
OPERATOR(BinaryCrossEntropyBackward, (T grad, T self, T target, T weight, int64_t reduction, T out),
         out = at::binary_cross_entropy_backward(grad, self, target, weight, reduction))
OPERATOR(BinaryCrossEntropyWithLogits,
         (T self, T target, T weight, T positive, int64_t reduction, T out),
         out = at::binary_cross_entropy_with_logits(self, target, weight, positive, reduction))
OPERATOR(BinaryCrossEntropyWithLogitsBackward,
         (T grad, T self, T target, T weight, T positive, int64_t reduction, T out), {
           const at::Tensor y = *target, x = *self, s = at::sigmoid(x);
           at::Tensor slope =
               positive.defined() ? (*positive * y + 1 - y) * s - *positive * y : s - y;
           if (weight.defined()) slope = slope * *weight;
           if (reduction == at::Reduction::Mean) slope = slope / x.numel();
           out = slope * *grad;
         })
OPERATOR(KlDiv, (T self, T target, int64_t reduction, bool log_target, T out),
         out = at::kl_div(self, target, reduction, log_target))
OPERATOR(KlDivBackward, (T grad, T self, T target, int64_t reduction, bool log_target, T out), {
  const at::Tensor y = *target;
  at::Tensor slope =
      log_target ? -at::exp(y) * *grad : at::where(y > 0, -y * *grad, at::zeros_like(*self));
  out = reduction == at::Reduction::Mean ? slope / (*self).numel() : slope;
})
OPERATOR(NLLLoss, (T self, T target, T weight, int64_t reduction, int64_t ignored, T out, T total),
         {
           const auto [loss, sum] =
               at::nll_loss_forward(self, (*target).to(at::kLong), weight, reduction, ignored);
           out = loss;
           total = sum;
         })
OPERATOR(NLLLossBackward,
         (T grad, T self, T target, T weight, int64_t reduction, int64_t ignored, T total, T out),
         out = at::nll_loss_backward(grad, self, (*target).to(at::kLong), weight, reduction,
                                     ignored, total))
OPERATOR(NLLLoss2d,
         (T self, T target, T weight, int64_t reduction, int64_t ignored, T out, T total), {
           const auto [loss, sum] =
               at::nll_loss2d_forward(self, (*target).to(at::kLong), weight, reduction, ignored);
           out = loss;
           total = sum;
         })
OPERATOR(NLLLoss2dBackward,
         (T grad, T self, T target, T weight, int64_t reduction, int64_t ignored, T total, T out),
         out = at::nll_loss2d_backward(grad, self, (*target).to(at::kLong), weight, reduction,
                                       ignored, total))
