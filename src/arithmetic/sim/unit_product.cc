// SPDX-License-Identifier: Apache-2.0
#include "sim/unit_product.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace msprobe::sim {
namespace {

using torch::jit::Stack;

bool is_narrow_float(const at::Tensor& tensor) {
  return tensor.is_floating_point() && tensor.scalar_type() != at::kDouble;
}

at::Tensor widen(const at::Tensor& tensor) { return tensor.to(at::kFloat); }

const c10::IValue& argument_at(const c10::OperatorHandle& op, const Stack& stack,
                               std::size_t place) {
  return stack[stack.size() - op.schema().arguments().size() + place];
}

// added * beta + sum * alpha, in float32 as the units' epilogues have it.
at::Tensor scaled(const at::Tensor& sum, const at::Tensor& added, const at::Scalar& beta,
                  const at::Scalar& alpha) {
  const at::Tensor product = alpha.toDouble() == 1 ? sum : sum * alpha;
  if (beta.toDouble() == 0) return product;
  return widen(added) * beta + product;
}

struct Factors {
  std::string_view name;
  std::size_t left;  // 1: something is added, with beta and alpha
};
constexpr Factors kFactors[] = {
    {"aten::mm", 0},    {"aten::bmm", 0},   {"aten::mv", 0},     {"aten::dot", 0},
    {"aten::addmm", 1}, {"aten::addmv", 1}, {"aten::addbmm", 1}, {"aten::baddbmm", 1},
};

// One product of matrices, whatever the operator makes of vectors and batches.
at::Tensor product_of(const units::Unit& unit, std::string_view name, const at::Tensor& left,
                      const at::Tensor& right) {
  if (name == "aten::dot") {
    return unit_matmul(unit, left.unsqueeze(0), right.unsqueeze(1)).reshape({});
  }
  if (name == "aten::mv" || name == "aten::addmv") {
    return unit_matmul(unit, left, right.unsqueeze(1)).squeeze(1);
  }
  if (name == "aten::addbmm") {  // a sum over the batch too
    return unit_matmul(unit, left.transpose(0, 1).flatten(1), right.flatten(0, 1));
  }
  return unit_matmul(unit, left, right);
}

// A convolution in two dimensions; one dimension is a picture of one row.
struct Picture {
  at::Tensor input, weight;
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups = 1;
  bool line = false;

  at::Tensor unfolded(std::int64_t group) const {  // sample, channel * kernel, place
    const std::int64_t channels = input.size(1) / groups;
    return at::im2col(input.narrow(1, group * channels, channels), weight.sizes().slice(2),
                      dilation, padding, stride);
  }
  at::Tensor folded(const at::Tensor& columns) const {
    return at::col2im(columns, input.sizes().slice(2), weight.sizes().slice(2), dilation, padding,
                      stride);
  }
  at::Tensor kernel(std::int64_t group) const {  // channel of the result, channel * kernel
    const std::int64_t channels = weight.size(0) / groups;
    return weight.narrow(0, group * channels, channels).flatten(1);
  }
};

// Geometry comes last: stride, padding, dilation, transposed, output_padding, groups.
std::optional<Picture> picture_of(const Stack& stack, std::size_t after, const at::Tensor& input,
                                  const at::Tensor& weight) {
  const auto at = [&](std::size_t place) -> const c10::IValue& {
    return stack[stack.size() - after - 6 + place];
  };
  if (!is_narrow_float(input) || at(3).toBool()) return std::nullopt;
  Picture picture{widen(input),        widen(weight),       at(0).toIntVector(),
                  at(1).toIntVector(), at(2).toIntVector(), at(5).toInt()};
  if (input.dim() == 3) {
    picture.line = true;
    picture.input = picture.input.unsqueeze(2);
    picture.weight = picture.weight.unsqueeze(2);
    picture.stride.insert(picture.stride.begin(), 1);
    picture.padding.insert(picture.padding.begin(), 0);
    picture.dilation.insert(picture.dilation.begin(), 1);
  }
  if (picture.input.dim() != 4) return std::nullopt;
  return picture;
}

}  // namespace

void give_result(const c10::OperatorHandle& op, Stack& stack, at::Tensor result) {
  const std::size_t arguments = op.schema().arguments().size();
  if (op.schema().arguments().back().is_out()) {
    const at::Tensor out = argument_at(op, stack, arguments - 1).toTensor();
    out.resize_(result.sizes()).copy_(result);
    result = out;
  }
  torch::jit::drop(stack, arguments);
  torch::jit::push(stack, result);
}

at::Tensor unit_matmul(const units::Unit& unit, const at::Tensor& left, const at::Tensor& right) {
  if (left.dim() == 3) {
    std::vector<at::Tensor> parts;
    for (std::int64_t i = 0; i < left.size(0); ++i) {
      parts.push_back(unit_matmul(unit, left[i], right.dim() == 3 ? right[i] : right));
    }
    return parts.empty() ? at::empty({0, left.size(1), right.size(-1)}, left.options())
                         : at::stack(parts);
  }
  const at::Tensor l = left.contiguous();
  const at::Tensor r = right.contiguous();
  at::Tensor out = at::zeros({l.size(0), r.size(1)}, l.options());
  if (out.numel() == 0) return out;
  units::product(unit, {l.size(0), l.size(1), r.size(1)}, l.data_ptr<float>(), r.data_ptr<float>(),
                 out.data_ptr<float>());
  return out;
}

bool compute_unit_product(const ProfileRow& profile, const c10::OperatorHandle& op, Stack& stack) {
  const std::string& name = op.schema().name();
  const auto* row = std::ranges::find(kFactors, name, &Factors::name);
  if (row == std::end(kFactors)) return false;
  const at::Tensor left = argument_at(op, stack, row->left).toTensor();
  const at::Tensor right = argument_at(op, stack, row->left + 1).toTensor();
  if (!is_narrow_float(left) || left.numel() == 0) return false;
  at::Tensor sum = product_of(profile.unit, name, widen(left), widen(right));
  if (row->left == 1) {
    sum = scaled(sum, argument_at(op, stack, 0).toTensor(), argument_at(op, stack, 3).toScalar(),
                 argument_at(op, stack, 4).toScalar());
  }
  give_result(op, stack, sum.to(left.scalar_type()));
  return true;
}

bool unit_convolve(const ProfileRow& profile, Stack& stack) {
  const std::size_t first = stack.size() - 9;
  const at::Tensor input = stack[first].toTensor();
  const auto picture = picture_of(stack, 0, input, stack[first + 1].toTensor());
  const auto bias = stack[first + 2].toOptional<at::Tensor>();
  if (!picture) return false;
  std::vector<at::Tensor> parts;
  for (std::int64_t group = 0; group < picture->groups; ++group) {
    const at::Tensor seen = picture->unfolded(group);
    const at::Tensor kernel = picture->kernel(group);
    std::vector<at::Tensor> samples;
    for (std::int64_t i = 0; i < seen.size(0); ++i) {
      samples.push_back(unit_matmul(profile.unit, kernel, seen[i]));
    }
    parts.push_back(at::stack(samples));
  }
  at::Tensor result = at::cat(parts, 1);
  if (bias && bias->defined()) result = result + widen(*bias).view({1, -1, 1});
  std::vector<std::int64_t> shape{result.size(0), result.size(1)};
  for (std::size_t i = picture->line ? 1 : 0; i < 2; ++i) {
    const auto dim = static_cast<std::int64_t>(i) + 2;
    const std::int64_t reach = picture->dilation[i] * (picture->weight.size(dim) - 1) + 1;
    shape.push_back(
        (picture->input.size(dim) + 2 * picture->padding[i] - reach) / picture->stride[i] + 1);
  }
  torch::jit::drop(stack, 9);
  torch::jit::push(stack, result.reshape(shape).to(input.scalar_type()));
  return true;
}

bool unit_convolve_backward(const ProfileRow& profile, Stack& stack) {
  const std::size_t first = stack.size() - 10;
  const at::Tensor gradient = stack[first].toTensor();
  const at::Tensor input = stack[first + 1].toTensor();
  const at::Tensor weight = stack[first + 2].toTensor();
  const auto picture = picture_of(stack, 1, input, weight);
  if (!picture || input.numel() == 0) return false;
  const auto mask = stack.back().to<std::array<bool, 3>>();
  const at::Tensor wide = widen(gradient).flatten(2);  // sample, channel, place
  const std::int64_t channels = wide.size(1) / picture->groups;
  std::vector<at::Tensor> of_input;
  std::vector<at::Tensor> of_weight;
  for (std::int64_t group = 0; group < picture->groups; ++group) {
    const at::Tensor arriving = wide.narrow(1, group * channels, channels);
    if (mask[0]) {
      const at::Tensor kernel = picture->kernel(group).t();
      std::vector<at::Tensor> samples;
      for (std::int64_t i = 0; i < arriving.size(0); ++i) {
        samples.push_back(unit_matmul(profile.unit, kernel, arriving[i]));
      }
      of_input.push_back(picture->folded(at::stack(samples)));
    }
    if (mask[1]) {  // a sum over samples and places
      const at::Tensor seen = picture->unfolded(group).transpose(1, 2).flatten(0, 1);
      of_weight.push_back(unit_matmul(profile.unit, arriving.transpose(0, 1).flatten(1), seen));
    }
  }
  torch::jit::drop(stack, 10);
  const at::ScalarType type = input.scalar_type();
  torch::jit::push(stack,
                   mask[0] ? at::cat(of_input, 1).reshape(input.sizes()).to(type) : at::Tensor());
  torch::jit::push(stack,
                   mask[1] ? at::cat(of_weight, 0).reshape(weight.sizes()).to(type) : at::Tensor());
  torch::jit::push(stack, mask[2] ? wide.sum(at::IntArrayRef{0, 2}).to(type) : at::Tensor());
  return true;
}

}  // namespace msprobe::sim
