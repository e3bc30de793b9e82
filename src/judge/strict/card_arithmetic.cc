// SPDX-License-Identifier: Apache-2.0
#include "strict/card_arithmetic.h"

#include "libtorch/dtypes.h"
#include "strict/float_type.h"

namespace msprobe::strict {
namespace {

at::Tensor without_subnormals(const at::Tensor& tensor, at::ScalarType type) {
  const double least = float_type(type)->least_normal;
  return at::where(tensor.abs().lt(least), tensor * 0, tensor);
}

at::Tensor as_input(const units::KnownProducts& arithmetic, const at::Tensor& tensor,
                    at::ScalarType type) {
  const at::Tensor wide = tensor.to(at::kFloat);
  return arithmetic.flushes_inputs ? without_subnormals(wide, type) : wide;
}

// To the dtype of the result, with what the device does at both ends of its range.
at::Tensor as_result(const units::KnownProducts& arithmetic, const at::Tensor& sum,
                     at::ScalarType type) {
  at::Tensor result = sum.to(type);
  if (arithmetic.flushes_results) result = without_subnormals(result, type);
  if (!arithmetic.saturates) return result;
  const double largest = float_type(type)->largest;
  return at::where(result.isinf(), result.sign() * largest, result);
}

}  // namespace

CardArithmetic card_arithmetic(const std::vector<units::KnownProducts>& products) {
  CardArithmetic card;
  for (const units::KnownProducts& known : products) {
    if (const auto type = libtorch::scalar_type(known.dtype)) card.emplace(*type, known);
  }
  return card;
}

bool rounds_to_tf32(const CardArithmetic& card) {
  const auto found = card.find(at::kFloat);
  if (found == card.end()) return false;
  const units::Inputs inputs = found->second.units.front().inputs;
  return inputs == units::Inputs::kTf32 || inputs == units::Inputs::kHf32;
}

at::Tensor computed(const units::KnownProducts& arithmetic, const units::Unit& unit,
                    const Product& product, at::ScalarType type, Added added) {
  const std::vector<std::int64_t> shape = shape_of(product);
  const std::int64_t rows = product.left.size(-2);
  const std::int64_t terms = product.left.size(-1);
  const std::int64_t columns = product.right.size(-1);
  // A factor of every matrix of the batch, or one for all of them.
  const auto matrices = [&](const at::Tensor& factor) {
    const at::Tensor wide = as_input(arithmetic, factor, type);
    if (wide.numel() == wide.size(-2) * wide.size(-1)) {
      return wide.reshape({1, wide.size(-2), wide.size(-1)}).contiguous();
    }
    std::vector<std::int64_t> whole(shape.begin(), shape.end() - 2);
    whole.insert(whole.end(), {wide.size(-2), wide.size(-1)});
    return wide.expand(whole).reshape({-1, wide.size(-2), wide.size(-1)}).contiguous();
  };
  const at::Tensor left = matrices(product.left);
  const at::Tensor right = matrices(product.right.all());
  at::Tensor sums = at::zeros(shape, at::TensorOptions(at::kFloat));
  const std::int64_t batch = rows * columns == 0 ? 0 : sums.numel() / (rows * columns);
  for (std::int64_t at = 0; at < batch; ++at) {
    units::product(unit, {rows, terms, columns},
                   left.data_ptr<float>() + (left.size(0) == 1 ? 0 : at * rows * terms),
                   right.data_ptr<float>() + (right.size(0) == 1 ? 0 : at * terms * columns),
                   sums.data_ptr<float>() + at * rows * columns);
  }
  if (!product.added.defined()) return as_result(arithmetic, sums, type);
  const at::Tensor other = as_input(arithmetic, product.added, type);
  if (added == Added::kInFloat32) return as_result(arithmetic, sums + other, type);
  const at::Tensor rounded = as_result(arithmetic, sums, type).to(at::kFloat);
  return as_result(arithmetic, rounded + other, type);
}

}  // namespace msprobe::strict
