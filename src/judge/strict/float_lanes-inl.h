// SPDX-License-Identifier: Apache-2.0
// The comparison of one vector of elements with their limits. Included once per vector target.
#if defined(MSPROBE_STRICT_FLOAT_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_STRICT_FLOAT_LANES_INL_H_
#undef MSPROBE_STRICT_FLOAT_LANES_INL_H_
#else
#define MSPROBE_STRICT_FLOAT_LANES_INL_H_
#endif

#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "strict/float_scan.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::strict::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::ScalableTag<double>;
using Floats = hn::Rebind<float, Doubles>;
using Vector = hn::Vec<Doubles>;

HWY_INLINE Vector all(double value) { return hn::Set(Doubles(), value); }

struct Elements {
  Vector device, rounded, bench, spread, native, drift;
};

// The sums of a slice, lane by lane.
class Lanes {
 public:
  explicit Lanes(const FloatLimits& limits) : limits_(limits) {}

  // Returns which of them are beyond their limits.
  template <bool kSpreads, bool kNatives, bool kDrifts, bool kUnits>
  HWY_INLINE hn::Mask<Doubles> add(const Elements& e) {
    const Vector rounded =
        kUnits ? e.rounded : hn::PromoteTo(Doubles(), hn::DemoteTo(Floats(), e.bench));
    Vector limit = hn::Add(hn::Mul(all(limits_.relative), hn::Abs(e.bench)), all(limits_.absolute));
    if constexpr (kSpreads) {
      limit = hn::Add(limit, hn::Mul(all(limits_.spread), hn::Abs(e.spread)));
    }
    if constexpr (kNatives) {
      const Vector native = hn::Mul(all(limits_.native), hn::Abs(e.native));
      not_finite_ = hn::Add(not_finite_, hn::Sub(native, native));
      limit = hn::Add(limit, hn::Min(native, all(limits_.native_cap)));
    }
    if constexpr (kUnits) limit = hn::Add(limit, hn::Mul(all(limits_.units), unit_of(e.bench)));
    limit = hn::Max(limit, hn::Add(hn::Mul(all(limits_.least_relative), hn::Abs(e.bench)),
                                   all(limits_.least_absolute)));
    const Vector away = hn::Sub(e.device, e.bench);
    Vector error = hn::Abs(away);
    if constexpr (kDrifts) {
      const Vector from_drift = hn::Abs(hn::Sub(away, e.drift));
      not_finite_ = hn::Add(not_finite_, hn::Sub(from_drift, from_drift));
      error = hn::Min(error, from_drift);
    }
    not_finite_ = hn::Add(not_finite_, hn::Sub(error, error));
    not_finite_ = hn::Add(not_finite_, hn::Sub(limit, limit));
    const auto differs = hn::Ne(e.device, rounded);
    const auto outside = hn::And(differs, hn::Gt(error, limit));
    differ_ = hn::Add(differ_, hn::IfThenElseZero(differs, all(1)));
    beyond_ = hn::Add(beyond_, hn::IfThenElseZero(outside, all(1)));
    // Few are worse than all before them: only these are divided.
    const Vector before = hn::IfThenElse(outside, nearly_worst_, nearly_worst_inside_);
    const auto worse = hn::And(differs, hn::Ge(error, hn::Mul(before, limit)));
    if (!hn::AllFalse(Doubles(), worse)) note_worst(worse, outside, hn::Div(error, limit));
    return outside;
  }

  FloatScan result() const {
    const Doubles d;
    FloatScan scan;
    scan.finite = hn::AllTrue(d, hn::Eq(not_finite_, all(0)));
    if (!scan.finite) return scan;
    scan.differ = static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(d, differ_)));
    scan.beyond = static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(d, beyond_)));
    const Vector worst = hn::Min(worst_, all(std::numeric_limits<double>::max()));
    scan.worst = hn::GetLane(hn::MaxOfLanes(d, worst));
    scan.worst_inside = hn::GetLane(hn::MaxOfLanes(d, worst_inside_));
    return scan;
  }

 private:
  HWY_INLINE void note_worst(hn::Mask<Doubles> worse, hn::Mask<Doubles> outside, Vector ratio) {
    const Vector seen = hn::IfThenElseZero(worse, ratio);
    worst_ = hn::Max(worst_, hn::IfThenElseZero(outside, seen));
    worst_inside_ = hn::Max(worst_inside_, hn::IfThenZeroElse(outside, seen));
    // So much less that rounding a product does not hide one that is worse.
    nearly_worst_ = hn::Mul(worst_, all(1 - 0x1p-50));
    nearly_worst_inside_ = hn::Mul(worst_inside_, all(1 - 0x1p-50));
  }

  // As unit_of() of float_type.h.
  HWY_INLINE Vector unit_of(Vector bench) const {
    const hn::RebindToUnsigned<Doubles> bits;
    const Vector size =
        hn::Min(hn::Max(hn::Abs(bench), all(limits_.least_normal)), all(limits_.largest));
    const auto exponent = hn::Set(bits, std::uint64_t{0x7FF0'0000'0000'0000});
    const Vector power = hn::BitCast(Doubles(), hn::And(hn::BitCast(bits, size), exponent));
    return hn::Mul(all(limits_.eps), power);
  }

  const FloatLimits& limits_;
  Vector differ_ = all(0);
  Vector beyond_ = all(0);
  Vector worst_ = all(0);
  Vector worst_inside_ = all(0);
  Vector nearly_worst_ = all(0);
  Vector nearly_worst_inside_ = all(0);
  Vector not_finite_ = all(0);  // NaN as soon as something is not finite
};

}  // namespace
}  // namespace msprobe::strict::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
