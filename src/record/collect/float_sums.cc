// SPDX-License-Identifier: Apache-2.0
#include "collect/float_sums.h"

#include <algorithm>
#include <cmath>

#include "core/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collect/float_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace msprobe::collect::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Doubles = hn::ScalableTag<double>;
using HalfFloats = hn::Rebind<float, Doubles>;

// Sums of a vector of floats, kept as doubles.
struct Lanes {
  hn::Vec<Doubles> sum;
  hn::Vec<Doubles> squares;

  Lanes() : sum(hn::Zero(Doubles())), squares(hn::Zero(Doubles())) {}

  HWY_INLINE void add(hn::Vec<HalfFloats> values) {
    const auto wide = hn::PromoteTo(Doubles(), values);
    sum = hn::Add(sum, wide);
    squares = hn::MulAdd(wide, wide, squares);
  }
};

FloatSums sums_with_target(const float* values, std::size_t count) {
  const Floats floats;
  const HalfFloats halves;
  const std::size_t lanes = hn::Lanes(floats);
  const std::size_t half = hn::Lanes(halves);
  auto max = hn::Set(floats, -std::numeric_limits<float>::infinity());
  auto min = hn::Set(floats, std::numeric_limits<float>::infinity());
  auto no_nan = hn::Eq(max, max);
  Lanes low, high;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(floats, values + i);
    no_nan = hn::And(no_nan, hn::Eq(v, v));
    max = hn::Max(max, v);
    min = hn::Min(min, v);
    low.add(hn::LoadU(halves, values + i));
    if (half < lanes) high.add(hn::LoadU(halves, values + i + half));
  }
  if (!hn::AllTrue(floats, no_nan)) return float_sums_reference(values, count);
  FloatSums sums = float_sums_reference(values + i, count - i);
  if (i == 0) return sums;
  FloatSums vectors;
  const Doubles doubles;
  vectors.max = static_cast<double>(hn::GetLane(hn::MaxOfLanes(floats, max)));
  vectors.min = static_cast<double>(hn::GetLane(hn::MinOfLanes(floats, min)));
  vectors.sum = hn::GetLane(hn::SumOfLanes(doubles, hn::Add(low.sum, high.sum)));
  vectors.sum_of_squares = hn::GetLane(hn::SumOfLanes(doubles, hn::Add(low.squares, high.squares)));
  vectors.merge(sums);
  return vectors;
}

}  // namespace
}  // namespace msprobe::collect::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace msprobe::collect {

HWY_EXPORT(sums_with_target);

void FloatSums::merge(const FloatSums& other) {
  max = std::max(max, other.max);
  min = std::min(min, other.min);
  sum += other.sum;
  sum_of_squares += other.sum_of_squares;
  has_nan = has_nan || other.has_nan;
}

FloatSums float_sums(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sums_with_target)(values, count);
}

FloatSums float_sums_reference(const float* values, std::size_t count) {
  FloatSums sums;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    sums.has_nan = sums.has_nan || std::isnan(value);
    sums.max = value > sums.max ? value : sums.max;
    sums.min = value < sums.min ? value : sums.min;
    sums.sum += value;
    sums.sum_of_squares += value * value;
  }
  return sums;
}

}  // namespace msprobe::collect

#endif  // HWY_ONCE
