// SPDX-License-Identifier: Apache-2.0
#include "strict/product_noise.h"

namespace msprobe::strict {
namespace {

at::Tensor reach_of(const ProductElements& elements) {
  return elements.wander.defined() ? at::maximum(elements.norms, elements.wander) : elements.norms;
}

// One number for positive sums, and one for negative ones.
at::Tensor by_sign(const ProductElements& elements, const double (&numbers)[2]) {
  const at::TensorOptions options = elements.sums.options();
  return at::where(elements.sums.lt(0), at::full({}, numbers[1], options),
                   at::full({}, numbers[0], options));
}

}  // namespace

at::Tensor rounded_noise(const ProductElements& elements, const RoundedNoise& how) {
  at::Tensor noise = elements.norms * how.of_norm;
  noise.add_(elements.sums.abs(), how.of_sum);
  if (how.of_added > 0) noise.add_((elements.bench - elements.sums).abs_(), how.of_added);
  if (elements.wander.defined()) noise.add_(elements.wander, how.of_wander);
  return noise;
}

at::Tensor mean_power(const at::Tensor& sums) {
  const at::Tensor sizes = sums.abs();
  // The quotient of a number and its mantissa is a power of two, and exact.
  const at::Tensor power = sizes / std::get<0>(at::frexp(sizes)).mul_(2);
  return (power - (power * (2.0 / 3)).mul_(power / sizes)).nan_to_num_(0, 0, 0);
}

CutRoom cut_room(const ProductElements& elements, const CutNoise& cut) {
  CutRoom room;
  room.drifts = mean_power(elements.sums).mul_(cut.drift);
  room.more = (reach_of(elements) * cut.of_reach).add_(room.drifts, cut.of_drift);
  const at::Tensor sizes = elements.sums.abs();
  room.straight = sizes.gt(by_sign(elements, cut.straight) * elements.norms);
  if (elements.wander.defined()) {
    room.straight.logical_and_(sizes.ge(elements.wander * cut.straight_wander));
  }
  return room;
}

Drift cut_noise(const ProductElements& elements, const CutNoise& cut) {
  const CutRoom room = cut_room(elements, cut);
  const at::Tensor share = by_sign(elements, cut.share);
  const at::Tensor of_straight = reach_of(elements) * (share.abs() * cut.of_reach);
  return {at::where(room.straight, of_straight, room.more * cut.most),
          (room.drifts * share).masked_fill_(room.straight.logical_not(), 0)};
}

}  // namespace msprobe::strict
