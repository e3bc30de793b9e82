// SPDX-License-Identifier: Apache-2.0
#include "strict/product_noise.h"

#include <algorithm>
#include <cstdint>

#include "core/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strict/product_noise.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "strict/float_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::strict::HWY_NAMESPACE {
namespace {

using AllDoubles = hn::ScalableTag<double>;
using OneDouble = hn::CappedTag<double, 1>;

template <class D>
HWY_INLINE hn::Vec<D> wide(D d, const float* values) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), values));
}

template <class D>
HWY_INLINE hn::Vec<D> wide(D d, const double* values) {
  return hn::LoadU(d, values);
}

// Roots of float32 numbers are taken in float32, which is several times faster.
template <class D>
HWY_INLINE hn::Vec<D> roots_at(D d, const ProductSlice& slice, std::size_t i) {
  const hn::Rebind<float, D> narrow;
  return slice.squares == nullptr
             ? hn::PromoteTo(d, hn::Sqrt(hn::LoadU(narrow, slice.float_squares + i)))
             : hn::Sqrt(hn::LoadU(d, slice.squares + i));
}

// The sizes of as many elements as a vector holds.
template <class D>
struct Sizes {
  using V = hn::Vec<D>;
  V sum, size, norm, wander, added;

  HWY_INLINE Sizes(D d, const ProductSlice& slice, std::size_t i) {
    sum = hn::LoadU(d, slice.sums + i);
    size = hn::Abs(sum);
    norm = roots_at(d, slice, i);
    wander = slice.wander == nullptr ? hn::Zero(d) : hn::LoadU(d, slice.wander + i);
    added = hn::Abs(hn::Sub(hn::LoadU(d, slice.bench + i), sum));
  }

  HWY_INLINE V rounded(D d, const RoundedNoise& how) const {
    const V own =
        hn::Add(hn::Mul(norm, hn::Set(d, how.of_norm)), hn::Mul(size, hn::Set(d, how.of_sum)));
    const V others = hn::Add(hn::Mul(added, hn::Set(d, how.of_added)),
                             hn::Mul(wander, hn::Set(d, how.of_wander)));
    return hn::Add(own, others);
  }

  HWY_INLINE V reach() const { return hn::Max(norm, wander); }

  // The mean of the power of two below a sum that grows evenly from 0: p - 2/3 p^2 / |sum|, where p
  // is the power of two below |sum|. 0 where that is not finite.
  HWY_INLINE V mean_power(D d) const {
    const hn::RebindToUnsigned<D> bits;
    const auto exponent = hn::Set(bits, std::uint64_t{0x7FF0'0000'0000'0000});
    const V power = hn::BitCast(d, hn::And(hn::BitCast(bits, sum), exponent));
    const V mean =
        hn::Sub(power, hn::Mul(hn::Mul(hn::Set(d, 2.0 / 3), power), hn::Div(power, size)));
    return hn::IfThenElseZero(hn::Eq(hn::Sub(mean, mean), hn::Zero(d)), mean);
  }

  HWY_INLINE hn::Mask<D> straight(D d, const CutNoise& cut) const {
    const auto negative = hn::Lt(sum, hn::Zero(d));
    const V least =
        hn::IfThenElse(negative, hn::Set(d, cut.straight[1]), hn::Set(d, cut.straight[0]));
    return hn::And(hn::Gt(size, hn::Mul(least, norm)),
                   hn::Ge(size, hn::Mul(hn::Set(d, cut.straight_wander), wander)));
  }

  HWY_INLINE V more(D d, const CutNoise& cut, V drift) const {
    return hn::Add(hn::Mul(reach(), hn::Set(d, cut.of_reach)),
                   hn::Mul(drift, hn::Set(d, cut.of_drift)));
  }
};

// Calls take(tag, i) for every vector of elements, and for each of the last ones.
template <class Take>
HWY_INLINE void for_vectors(std::size_t length, const Take& take) {
  const AllDoubles d;
  const std::size_t step = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + step <= length; i += step) take(d, i);
  for (; i < length; ++i) take(OneDouble(), i);
}

void rounded_with_target(const ProductSlice& slice, const RoundedNoise& how, double* noise) {
  for_vectors(slice.length, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(Sizes<decltype(d)>(d, slice, i).rounded(d, how), d, noise + i);
  });
}

// Returns which of a vector of elements are beyond their limits.
HWY_INLINE hn::Mask<AllDoubles> add_with_noise(Lanes& lanes, const ProductSlice& slice,
                                               const float* device, const RoundedNoise& how,
                                               std::size_t i) {
  const AllDoubles d;
  const auto none = hn::Zero(d);
  return lanes.add<true, false, false, false>(
      {wide(d, device + i), none, hn::LoadU(d, slice.bench + i),
       Sizes<AllDoubles>(d, slice, i).rounded(d, how), none, none});
}

// Appends `first` and so on for the lanes of a mask.
HWY_NOINLINE void append(hn::Vec<AllDoubles> marks, std::size_t first,
                         std::vector<std::int64_t>& places) {
  const AllDoubles d;
  HWY_ALIGN double marked[hn::MaxLanes(AllDoubles())];
  hn::Store(marks, d, marked);
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    if (marked[lane] != 0) places.push_back(static_cast<std::int64_t>(first + lane));
  }
}

FloatScan scan_with_noise(const ProductSlice& slice, const float* device, const RoundedNoise& how,
                          const FloatLimits& limits, std::vector<std::int64_t>& beyond) {
  const AllDoubles d;
  const std::size_t step = hn::Lanes(d);
  const auto one = hn::Set(d, 1.0);
  Lanes lanes(limits);
  std::size_t i = 0;
  for (; i + step <= slice.length; i += step) {
    const auto outside = add_with_noise(lanes, slice, device, how, i);
    if (!hn::AllFalse(d, outside)) append(hn::IfThenElseZero(outside, one), i, beyond);
  }
  const std::size_t rest = slice.length - i;
  if (rest == 0) return lanes.result();
  // Zeros behind the last ones are equal on both sides.
  constexpr std::size_t kMost = hn::MaxLanes(AllDoubles());
  HWY_ALIGN double last[4][kMost] = {};
  HWY_ALIGN float last_device[kMost] = {};
  HWY_ALIGN float last_squares[kMost] = {};
  std::copy_n(slice.bench + i, rest, last[0]);
  std::copy_n(slice.sums + i, rest, last[1]);
  if (slice.squares != nullptr) std::copy_n(slice.squares + i, rest, last[2]);
  if (slice.squares == nullptr) std::copy_n(slice.float_squares + i, rest, last_squares);
  if (slice.wander != nullptr) std::copy_n(slice.wander + i, rest, last[3]);
  std::copy_n(device + i, rest, last_device);
  const ProductSlice end{last[0],      last[1], slice.squares == nullptr ? nullptr : last[2],
                         last_squares, last[3], rest};
  const auto outside = add_with_noise(lanes, end, last_device, how, 0);
  append(hn::IfThenElseZero(outside, one), i, beyond);
  return lanes.result();
}

void cut_with_target(const ProductSlice& slice, const RoundedNoise& rounded, const CutNoise& cut,
                     double* noise, double* drifts) {
  for_vectors(slice.length, [&](auto d, std::size_t i) HWY_ATTR {
    const Sizes<decltype(d)> sizes(d, slice, i);
    const auto drift = hn::Mul(sizes.mean_power(d), hn::Set(d, cut.drift));
    const auto straight = sizes.straight(d, cut);
    const auto share = hn::IfThenElse(hn::Lt(sizes.sum, hn::Zero(d)), hn::Set(d, cut.share[1]),
                                      hn::Set(d, cut.share[0]));
    const auto of_straight =
        hn::Mul(sizes.reach(), hn::Mul(hn::Set(d, cut.of_reach), hn::Abs(share)));
    const auto of_others = hn::Mul(sizes.more(d, cut, drift), hn::Set(d, cut.most));
    const auto more = hn::IfThenElse(straight, of_straight, of_others);
    hn::StoreU(hn::Add(sizes.rounded(d, rounded), more), d, noise + i);
    hn::StoreU(hn::IfThenElseZero(straight, hn::Mul(drift, share)), d, drifts + i);
  });
}

void room_with_target(const ProductSlice& slice, const CutNoise& cut, double* drifts, double* more,
                      double* straight) {
  for_vectors(slice.length, [&](auto d, std::size_t i) HWY_ATTR {
    const Sizes<decltype(d)> sizes(d, slice, i);
    const auto drift = hn::Mul(sizes.mean_power(d), hn::Set(d, cut.drift));
    hn::StoreU(drift, d, drifts + i);
    hn::StoreU(sizes.more(d, cut, drift), d, more + i);
    hn::StoreU(hn::IfThenElseZero(sizes.straight(d, cut), hn::Set(d, 1.0)), d, straight + i);
  });
}

template <class T>
void widen(const T* more, const double* sums, double way, double* reached, double* wander,
           std::size_t length) {
  for_vectors(length, [&](auto d, std::size_t i) HWY_ATTR {
    const auto there = hn::Add(hn::LoadU(d, reached + i), wide(d, more + i));
    hn::StoreU(there, d, reached + i);
    const auto line = hn::Mul(hn::LoadU(d, sums + i), hn::Set(d, way));
    const auto away = hn::Abs(hn::Sub(there, line));
    hn::StoreU(hn::Max(hn::LoadU(d, wander + i), away), d, wander + i);
  });
}

void widen_by_floats(const float* more, const double* sums, double way, double* reached,
                     double* wander, std::size_t length) {
  widen(more, sums, way, reached, wander, length);
}

void widen_by_doubles(const double* more, const double* sums, double way, double* reached,
                      double* wander, std::size_t length) {
  widen(more, sums, way, reached, wander, length);
}

}  // namespace
}  // namespace msprobe::strict::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace msprobe::strict {

HWY_EXPORT(rounded_with_target);
HWY_EXPORT(scan_with_noise);
HWY_EXPORT(cut_with_target);
HWY_EXPORT(room_with_target);
HWY_EXPORT(widen_by_floats);
HWY_EXPORT(widen_by_doubles);

void rounded_noise(const ProductSlice& slice, const RoundedNoise& how, double* noise) {
  HWY_DYNAMIC_DISPATCH(rounded_with_target)(slice, how, noise);
}

FloatScan scan_rounded_noise(const ProductSlice& slice, const float* device,
                             const RoundedNoise& how, const FloatLimits& limits,
                             std::vector<std::int64_t>& beyond) {
  return HWY_DYNAMIC_DISPATCH(scan_with_noise)(slice, device, how, limits, beyond);
}

void cut_noise(const ProductSlice& slice, const RoundedNoise& rounded, const CutNoise& cut,
               double* noise, double* drifts) {
  HWY_DYNAMIC_DISPATCH(cut_with_target)(slice, rounded, cut, noise, drifts);
}

void cut_room(const ProductSlice& slice, const CutNoise& cut, double* drifts, double* more,
              double* straight) {
  HWY_DYNAMIC_DISPATCH(room_with_target)(slice, cut, drifts, more, straight);
}

void widen_wander(const float* more, const double* sums, double way, double* reached,
                  double* wander, std::size_t length) {
  HWY_DYNAMIC_DISPATCH(widen_by_floats)(more, sums, way, reached, wander, length);
}

void widen_wander(const double* more, const double* sums, double way, double* reached,
                  double* wander, std::size_t length) {
  HWY_DYNAMIC_DISPATCH(widen_by_doubles)(more, sums, way, reached, wander, length);
}

}  // namespace msprobe::strict

#endif  // HWY_ONCE
