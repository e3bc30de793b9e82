// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/transforms.h"

#include "execute/npu/compute_dtype.h"

namespace msprobe::execute::npu {

namespace {

std::vector<std::int64_t> inverse(at::IntArrayRef perm) {
  const auto rank = static_cast<std::int64_t>(perm.size());
  std::vector<std::int64_t> result(perm.size());
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t dim = perm[static_cast<std::size_t>(i)];
    TORCH_CHECK(dim >= -rank && dim < rank, "npu_confusion_transpose: perm ", perm,
                " names dimension ", dim, " of ", rank);
    result[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)] = i;
  }
  return result;
}

// The two halves of the last dimension, or its even and odd elements.
std::tuple<at::Tensor, at::Tensor> rotated_parts(const at::Tensor& x, std::string_view mode) {
  TORCH_CHECK(mode == "half" || mode == "interleave", "npu_rotary_mul: rotary_mode '",
              std::string(mode), "' is neither 'half' nor 'interleave'");
  TORCH_CHECK(x.dim() > 0 && x.size(-1) % 2 == 0, "npu_rotary_mul: x of shape ", x.sizes(),
              " needs an even last dimension");
  const std::int64_t size = x.size(-1);
  if (mode == "half") return {x.narrow(-1, 0, size / 2), x.narrow(-1, size / 2, size / 2)};
  return {x.slice(-1, 0, size, 2), x.slice(-1, 1, size, 2)};
}

at::Tensor joined(const at::Tensor& first, const at::Tensor& second, std::string_view mode) {
  if (mode == "half") return at::cat({first, second}, -1);
  return at::stack({first, second}, -1).flatten(-2);
}

// (a, b) to (-b, a).
at::Tensor rotated(const at::Tensor& x, const Rotation& rotation) {
  if (rotation.matrix.defined()) return at::matmul(x, rotation.matrix.to(x.scalar_type()));
  const auto [a, b] = rotated_parts(x, rotation.mode);
  return joined(-b, a, rotation.mode);
}

// The transpose of `rotated` as a linear map: (a, b) to (b, -a).
at::Tensor rotated_back(const at::Tensor& x, const Rotation& rotation) {
  if (rotation.matrix.defined()) return at::matmul(x, rotation.matrix.to(x.scalar_type()).t());
  const auto [a, b] = rotated_parts(x, rotation.mode);
  return joined(b, -a, rotation.mode);
}

// 2-D or more: all but the last dimension made one.
at::Tensor as_rows(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

}  // namespace

at::Tensor npu_confusion_transpose(const at::Tensor& data, at::IntArrayRef perm,
                                   at::IntArrayRef shape, bool transpose_first) {
  if (transpose_first) return data.permute(perm).contiguous().view(shape);
  return data.reshape(shape).permute(perm);
}

at::Tensor npu_confusion_transpose_backward(const at::Tensor& grad, at::IntArrayRef perm,
                                            at::IntArrayRef data_shape, bool transpose_first) {
  const std::vector<std::int64_t> back = inverse(perm);
  if (!transpose_first) return grad.permute(back).reshape(data_shape);
  TORCH_CHECK(perm.size() == data_shape.size(), "npu_confusion_transpose_backward: perm ", perm,
              " and shape ", data_shape, " differ in length");
  std::vector<std::int64_t> permuted(perm.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    permuted[static_cast<std::size_t>(back[i])] = data_shape[i];
  }
  return grad.reshape(permuted).permute(back);
}

at::Tensor npu_rotary_mul(const at::Tensor& x, const at::Tensor& r1, const at::Tensor& r2,
                          const Rotation& rotation) {
  const at::Tensor wide = widened(x);
  return (r1 * wide + r2 * rotated(wide, rotation)).to(x.scalar_type());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> npu_rotary_mul_backward(const at::Tensor& grad,
                                                                       const at::Tensor& x,
                                                                       const at::Tensor& r1,
                                                                       const at::Tensor& r2,
                                                                       const Rotation& rotation) {
  const at::Tensor g = widened(grad);
  const at::Tensor grad_x = (r1 * g + rotated_back(r2 * g, rotation)).sum_to_size(x.sizes());
  const at::Tensor grad_r1 = (x * g).sum_to_size(r1.sizes());
  const at::Tensor grad_r2 = (rotated(x, rotation) * g).sum_to_size(r2.sizes());
  return {grad_x.to(x.scalar_type()), grad_r1.to(r1.scalar_type()), grad_r2.to(r2.scalar_type())};
}

at::Tensor npu_interleave_rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  TORCH_CHECK(x.dim() > 0 && x.size(-1) % 2 == 0, "npu_interleave_rope: x of shape ", x.sizes(),
              " has no pairs in its last dimension");
  const at::Tensor wide = widened(x);
  const at::Tensor even = wide.slice(-1, 0, c10::nullopt, 2);
  const at::Tensor odd = wide.slice(-1, 1, c10::nullopt, 2);
  const at::Tensor sorted = at::cat({even, odd}, -1);
  const at::Tensor rotated = at::cat({-odd, even}, -1);
  return (sorted * widened(cos) + rotated * widened(sin)).to(x.scalar_type());
}

at::Tensor npu_bmm_v2(const at::Tensor& input, const at::Tensor& mat2,
                      at::IntArrayRef output_sizes) {
  const at::Tensor left = input.dim() == 1 ? input.unsqueeze(0) : input;
  const at::Tensor right = mat2.dim() == 1 ? mat2.unsqueeze(1) : mat2;
  const at::Tensor product = at::matmul(left, right);
  return output_sizes.empty() ? product : product.sum_to_size(output_sizes);
}

at::Tensor npu_transpose_batchmatmul(const at::Tensor& input, const at::Tensor& weight,
                                     const TransposeBatchMatmul& options) {
  TORCH_CHECK(input.dim() == 3 && weight.dim() == 3, "npu_transpose_batchmatmul: input of shape ",
              input.sizes(), " and weight of shape ", weight.sizes(), ", 3 dimensions are needed");
  const at::Tensor product =
      at::matmul(input.permute(options.perm_x1), weight.permute(options.perm_x2));
  const at::Tensor y = product.permute(options.perm_y);
  const std::int64_t parts = options.batch_split_factor;
  if (parts <= 1) return y.contiguous();
  const std::int64_t columns = y.size(1) * y.size(2);
  TORCH_CHECK(columns % parts == 0, "npu_transpose_batchmatmul: ", columns,
              " columns cannot be split into ", parts, " parts");
  return y.reshape({y.size(0), parts, columns / parts}).permute({1, 0, 2}).contiguous();
}

at::Tensor npu_scatter_nd_update(const at::Tensor& input, const at::Tensor& indices,
                                 const at::Tensor& updates) {
  const std::int64_t depth = indices.size(-1);
  TORCH_CHECK(depth <= input.dim(), "npu_scatter_nd_update: indices of ", depth,
              " numbers into a tensor of ", input.dim(), " dimensions");
  c10::List<c10::optional<at::Tensor>> places;
  const at::Tensor flat = indices.to(at::kLong).reshape({-1, depth});
  for (std::int64_t d = 0; d < depth; ++d) places.push_back(flat.select(1, d));
  std::vector<std::int64_t> shape{flat.size(0)};
  for (std::int64_t d = depth; d < input.dim(); ++d) shape.push_back(input.size(d));
  return input.clone().index_put_(places, updates.reshape(shape));
}

at::Tensor npu_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::linear(x, weight, bias);
}

std::tuple<at::Tensor, at::Tensor> npu_linear_backward(const at::Tensor& grad, const at::Tensor& x,
                                                       const at::Tensor& weight) {
  return {at::matmul(grad, weight), at::matmul(as_rows(grad).t(), as_rows(x))};
}

std::tuple<at::Tensor, at::Tensor> matmul_gradients(const at::Tensor& grad, const at::Tensor& self,
                                                    const at::Tensor& other,
                                                    const std::vector<bool>& mask) {
  TORCH_CHECK(mask.size() >= 2, "Mask size at least 2");
  // A vector is a matrix of one row on the left, of one column on the right; matmul dropped that
  // dimension from its result, so the gradient gets it back.
  const bool row = self.dim() == 1;
  const bool column = other.dim() == 1;
  const at::Tensor left = row ? self.unsqueeze(0) : self;
  const at::Tensor right = column ? other.unsqueeze(1) : other;
  at::Tensor full = column ? grad.unsqueeze(-1) : grad;
  if (row) full = full.unsqueeze(-2);

  at::Tensor grad_self;
  at::Tensor grad_other;
  if (mask[0]) {
    grad_self = at::matmul(full, right.transpose(-2, -1)).sum_to_size(left.sizes());
    grad_self = grad_self.reshape(self.sizes());
  }
  if (mask[1]) {
    grad_other = at::matmul(left.transpose(-2, -1), full).sum_to_size(right.sizes());
    grad_other = grad_other.reshape(other.sizes());
  }
  return {grad_self, grad_other};
}

}  // namespace msprobe::execute::npu
