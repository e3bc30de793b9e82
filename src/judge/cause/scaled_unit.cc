// SPDX-License-Identifier: Apache-2.0
#include "cause/scaled_unit.h"

#include <algorithm>

namespace msprobe::cause {
namespace {

using low_precision::Factor;
using low_precision::Part;

// left @ right^T, both (rows, terms) of numbers of float32.
at::Tensor multiplied(const units::Unit& unit, const at::Tensor& left, const at::Tensor& right) {
  const at::Tensor l = left.to(at::kFloat).contiguous();
  const at::Tensor r = right.to(at::kFloat).t().contiguous();
  at::Tensor out = at::zeros({l.size(0), r.size(1)}, at::kFloat);
  if (out.numel() > 0 && l.size(1) > 0) {
    units::product(unit, {l.size(0), l.size(1), r.size(1)}, l.data_ptr<float>(),
                   r.data_ptr<float>(), out.data_ptr<float>());
  }
  return out.to(at::kDouble);
}

// The scale of block `block` of every row, as a column.
at::Tensor block_scale(const Factor& factor, std::int64_t block) {
  if (!factor.scales.defined()) return at::ones({1, 1}, at::kDouble);
  const std::int64_t column = factor.scales.size(1) > 1 ? block : 0;
  return factor.scales.narrow(1, column, 1);
}

bool has_blocks(const Factor& factor) {
  return factor.scales.defined() && factor.scales.size(1) > 1;
}

at::Tensor part_sums(const Part& part, const units::Unit& unit) {
  const Factor &left = part.left, &right = part.right;
  const std::int64_t terms = left.numbers.size(1);
  const double whole = left.scale * right.scale;
  std::int64_t block = terms;
  if (has_blocks(left)) block = left.block;
  if (has_blocks(right)) block = std::min(block, right.block);
  if (block >= terms) {
    return multiplied(unit, left.numbers, right.numbers) * block_scale(left, 0) *
           block_scale(right, 0).t() * whole;
  }
  constexpr std::int64_t kInside = 32;  // largest block that the unit itself scales
  if (block <= kInside) {
    Factor scaled_left = left, scaled_right = right;
    scaled_left.scale = scaled_right.scale = 1;
    return multiplied(unit, scaled_left.scaled(), scaled_right.scaled()) * whole;
  }
  at::Tensor sum = at::zeros({left.numbers.size(0), right.numbers.size(0)}, at::kFloat);
  for (std::int64_t begin = 0; begin < terms; begin += block) {
    const std::int64_t length = std::min(block, terms - begin);
    const at::Tensor piece = multiplied(unit, left.numbers.narrow(1, begin, length),
                                        right.numbers.narrow(1, begin, length));
    sum += (piece * block_scale(left, begin / left.block) *
            block_scale(right, begin / right.block).t())
               .to(at::kFloat);
  }
  return sum.to(at::kDouble) * whole;
}

}  // namespace

at::Tensor unit_sums(const low_precision::ScaledProduct& product, const units::Unit& unit) {
  at::Tensor sums = at::zeros(product.shape, at::kDouble);
  for (const Part& part : product.parts) part.place_in(sums).copy_(part_sums(part, unit));
  return sums;
}

double unit_cost(const low_precision::ScaledProduct& product) {
  double cost = 0;
  for (const Part& part : product.parts) {
    cost += static_cast<double>(part.left.numbers.numel()) *
            static_cast<double>(part.right.numbers.size(0));
  }
  return cost;
}

}  // namespace msprobe::cause
