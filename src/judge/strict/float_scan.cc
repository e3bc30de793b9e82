// SPDX-License-Identifier: Apache-2.0
#include "strict/float_scan.h"

#include <algorithm>

#include "core/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strict/float_scan.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "strict/float_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::strict::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// `count` values and zeros behind them: a vector of zeros is equal on both sides.
template <class D>
HWY_INLINE hn::Vec<D> padded(D d, const hn::TFromD<D>* values, std::size_t count) {
  HWY_ALIGN hn::TFromD<D> all_lanes[hn::MaxLanes(D())] = {};
  std::copy_n(values, count, all_lanes);
  return hn::Load(d, all_lanes);
}

template <bool kSpreads, bool kNatives, bool kDrifts, bool kUnits>
FloatScan scan_with(const FloatSlice& slice, const FloatLimits& limits) {
  const Doubles d;
  const std::size_t step = hn::Lanes(d);
  Lanes lanes(limits);
  std::size_t i = 0;
  for (; i + step <= slice.length; i += step) {
    Elements e{hn::PromoteTo(d, hn::LoadU(Floats(), slice.device + i)),
               all(0),
               hn::LoadU(d, slice.bench + i),
               all(0),
               all(0),
               all(0)};
    if constexpr (kUnits) e.rounded = hn::PromoteTo(d, hn::LoadU(Floats(), slice.rounded + i));
    if constexpr (kSpreads) e.spread = hn::LoadU(d, slice.spreads + i);
    if constexpr (kNatives) e.native = hn::LoadU(d, slice.natives + i);
    if constexpr (kDrifts) e.drift = hn::LoadU(d, slice.drifts + i);
    lanes.add<kSpreads, kNatives, kDrifts, kUnits>(e);
  }
  const std::size_t rest = slice.length - i;
  if (rest == 0) return lanes.result();
  Elements e{hn::PromoteTo(d, padded(Floats(), slice.device + i, rest)),
             all(0),
             padded(d, slice.bench + i, rest),
             all(0),
             all(0),
             all(0)};
  if constexpr (kUnits) e.rounded = hn::PromoteTo(d, padded(Floats(), slice.rounded + i, rest));
  if constexpr (kSpreads) e.spread = padded(d, slice.spreads + i, rest);
  if constexpr (kNatives) e.native = padded(d, slice.natives + i, rest);
  if constexpr (kDrifts) e.drift = padded(d, slice.drifts + i, rest);
  lanes.add<kSpreads, kNatives, kDrifts, kUnits>(e);
  return lanes.result();
}

template <bool kUnits>
FloatScan scan_with_units(const FloatSlice& slice, const FloatLimits& limits) {
  if (slice.drifts != nullptr) return scan_with<true, false, true, kUnits>(slice, limits);
  if (slice.spreads == nullptr && slice.natives == nullptr) {
    return scan_with<false, false, false, kUnits>(slice, limits);
  }
  if (slice.natives == nullptr) return scan_with<true, false, false, kUnits>(slice, limits);
  if (slice.spreads == nullptr) return scan_with<false, true, false, kUnits>(slice, limits);
  return scan_with<true, true, false, kUnits>(slice, limits);
}

FloatScan scan_with_target(const FloatSlice& slice, const FloatLimits& limits) {
  return slice.rounded == nullptr ? scan_with_units<false>(slice, limits)
                                  : scan_with_units<true>(slice, limits);
}

}  // namespace
}  // namespace msprobe::strict::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace msprobe::strict {

HWY_EXPORT(scan_with_target);

FloatScan scan_floats(const FloatSlice& slice, const FloatLimits& limits) {
  return HWY_DYNAMIC_DISPATCH(scan_with_target)(slice, limits);
}

}  // namespace msprobe::strict

#endif  // HWY_ONCE
