// SPDX-License-Identifier: Apache-2.0
#include "sim/convolution.h"

#include <functional>

#include "sim/arithmetic.h"

namespace msprobe::sim {
namespace {

struct Geometry {
  std::vector<std::int64_t> stride, padding, dilation;
  bool transposed;
  std::vector<std::int64_t> output_padding;
  std::int64_t groups;

  at::Tensor forward(const at::Tensor& input, const at::Tensor& weight,
                     const std::optional<at::Tensor>& bias) const {
    return at::convolution(input, weight, bias, stride, padding, dilation, transposed,
                           output_padding, groups);
  }
  std::tuple<at::Tensor, at::Tensor, at::Tensor> backward(const at::Tensor& gradient,
                                                          const at::Tensor& input,
                                                          const at::Tensor& weight,
                                                          std::array<bool, 3> wanted) const {
    const std::int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
    return at::convolution_backward(gradient, input, weight, at::IntArrayRef{channels}, stride,
                                    padding, dilation, transposed, output_padding, groups, wanted);
  }
};

Geometry pop_geometry(torch::jit::Stack& stack) {
  Geometry how;
  how.groups = torch::jit::pop(stack).toInt();
  how.output_padding = torch::jit::pop(stack).toIntVector();
  how.transposed = torch::jit::pop(stack).toBool();
  how.dilation = torch::jit::pop(stack).toIntVector();
  how.padding = torch::jit::pop(stack).toIntVector();
  how.stride = torch::jit::pop(stack).toIntVector();
  return how;
}

void change_factor(SimProfile profile, at::Tensor& tensor) {
  if (const int bits = factor_bits(profile); bits > 0) tensor = kept_bits(tensor, bits);
}

bool can_block(SimProfile profile, const Geometry& how, const at::Tensor& input) {
  return sum_type(profile) && how.groups == 1 && !how.transposed &&
         input.scalar_type() != at::kDouble && input.is_floating_point();
}

// Channels are the terms: as many at a time as make about a block with the kernel's extent.
at::Tensor blocked(SimProfile profile, const Geometry& how, const at::Tensor& input,
                   const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  const at::Tensor wide = input.to(at::kFloat);
  const at::Tensor kernel = weight.to(at::kFloat);
  const std::int64_t extent = kernel[0][0].numel();
  const std::int64_t channels = std::max<std::int64_t>(1, kBlock / extent);
  at::Tensor sum =
      summed_in_blocks(kernel.size(1), channels, *sum_type(profile), [&](auto start, auto length) {
        return how.forward(wide.narrow(1, start, length), kernel.narrow(1, start, length), {});
      });
  if (bias && bias->defined()) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(sum.dim()), 1);
    shape[1] = -1;
    sum = sum + bias->to(at::kFloat).view(shape);
  }
  return sum.to(input.scalar_type());
}

void shuffle_channels(const Geometry& how, at::Tensor& input, at::Tensor& weight) {
  if (how.groups != 1 || how.transposed) return;
  const at::Tensor order = any_order(input.size(1));
  input = input.index_select(1, order);
  weight = weight.index_select(1, order);
}

}  // namespace

void convolve(SimProfile profile, torch::jit::Stack& stack) {
  const Geometry how = pop_geometry(stack);
  const auto bias = torch::jit::pop(stack).toOptional<at::Tensor>();
  at::Tensor weight = torch::jit::pop(stack).toTensor();
  at::Tensor input = torch::jit::pop(stack).toTensor();
  change_factor(profile, input);
  change_factor(profile, weight);
  if (profile == SimProfile::kAtomics) shuffle_channels(how, input, weight);
  torch::jit::push(stack, can_block(profile, how, input)
                              ? blocked(profile, how, input, weight, bias)
                              : how.forward(input, weight, bias));
}

void convolve_backward(SimProfile profile, torch::jit::Stack& stack) {
  const auto mask = torch::jit::pop(stack).to<std::array<bool, 3>>();
  const Geometry how = pop_geometry(stack);
  at::Tensor weight = torch::jit::pop(stack).toTensor();
  at::Tensor input = torch::jit::pop(stack).toTensor();
  at::Tensor gradient = torch::jit::pop(stack).toTensor();
  for (at::Tensor* factor : {&gradient, &input, &weight}) change_factor(profile, *factor);
  auto [of_input, of_weight, of_bias] = how.backward(gradient, input, weight, mask);
  if (can_block(profile, how, input)) {
    const at::Tensor wide = gradient.to(at::kFloat);
    const at::Tensor image = input.to(at::kFloat);
    const at::Tensor kernel = weight.to(at::kFloat);
    const at::ScalarType kept = *sum_type(profile);
    if (mask[0]) {  // a sum over output channels
      of_input =
          summed_in_blocks(wide.size(1), kBlock, kept, [&](auto start, auto length) {
            return std::get<0>(how.backward(wide.narrow(1, start, length), image,
                                            kernel.narrow(0, start, length), {true, false, false}));
          }).to(input.scalar_type());
    }
    if (mask[1]) {  // a sum over samples
      of_weight = summed_in_blocks(wide.size(0), 1, kept, [&](auto start, auto length) {
                    return std::get<1>(how.backward(wide.narrow(0, start, length),
                                                    image.narrow(0, start, length), kernel,
                                                    {false, true, false}));
                  }).to(weight.scalar_type());
    }
  }
  torch::jit::push(stack, of_input);
  torch::jit::push(stack, of_weight);
  torch::jit::push(stack, of_bias);
}

}  // namespace msprobe::sim
