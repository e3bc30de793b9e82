// SPDX-License-Identifier: Apache-2.0
// The sums of a matrix unit, several at a time. Every step is exact in doubles: products of float32
// have 48 bits, the aligned terms are whole numbers below 2^(bits + 8), and everything else is a
// scaling by a power of two.
#include <cstdint>
#include <limits>

#include "core/vector_targets.h"
#include "units/unit.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "units/add_terms.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace msprobe::units::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::CappedTag<double, kLanes>;
using Whole = hn::RebindToSigned<Doubles>;
using Floats = hn::Rebind<float, Doubles>;
using Vector = hn::Vec<Doubles>;

constexpr double kNothing = 0x1p-900;  // below every product of float32
constexpr double kEverything = 0x1p900;
constexpr double kLeastNormal = 0x1p-126;
constexpr double kSubnormalUnits = 0x1p149;

HWY_INLINE Vector set(double value) { return hn::Set(Doubles(), value); }

HWY_INLINE Vector masked(Vector value, std::int64_t mask) {
  return hn::BitCast(Doubles(), hn::And(hn::BitCast(Whole(), value), hn::Set(Whole(), mask)));
}

// 2^e of a number; infinite for what is not finite, zero for zero.
HWY_INLINE Vector power(Vector value) { return masked(value, 0x7ff0000000000000); }

template <Cut kCut>
HWY_INLINE Vector whole(Vector value) {
  if constexpr (kCut == Cut::kTowardZero) return hn::Trunc(value);
  if constexpr (kCut == Cut::kDown) return hn::Floor(value);
  return hn::Round(value);  // ties to even
}

// To the 24 bits of a float32, or what there is of them in the subnormal range.
template <Cut kCut>
HWY_INLINE Vector to_float(Vector value) {
  const Doubles d;
  if constexpr (kCut == Cut::kNearest) {
    return hn::PromoteTo(d, hn::DemoteTo(Floats(), value));
  } else {
    constexpr std::int64_t kDropped = 0x1fffffff;
    Vector cut = masked(value, ~kDropped);
    if constexpr (kCut == Cut::kDown) {
      const Vector away =
          hn::BitCast(d, hn::Add(hn::BitCast(Whole(), value), hn::Set(Whole(), kDropped)));
      cut = hn::IfThenElse(hn::Lt(value, set(0)), masked(away, ~kDropped), cut);
    }
    const Vector fine =
        hn::Mul(whole<kCut>(hn::Mul(value, set(kSubnormalUnits))), set(1 / kSubnormalUnits));
    return hn::IfThenElse(hn::Lt(hn::Abs(value), set(kLeastNormal)), fine, cut);
  }
}

// The sum of two float32, rounded once.
template <Cut kCut>
HWY_INLINE Vector add_float(Vector one, Vector other) {
  const Doubles d;
  Vector sum = hn::Add(one, other);
  if constexpr (kCut != Cut::kNearest) {
    // A double may have been rounded onto a float32: the lost part says from which side.
    const Vector part = hn::Sub(sum, one);
    const Vector lost = hn::Add(hn::Sub(one, hn::Sub(sum, part)), hn::Sub(other, part));
    const auto ulp = hn::Set(Whole(), 1);
    const auto bits = hn::BitCast(Whole(), sum);
    const Vector smaller = hn::BitCast(d, hn::Sub(bits, ulp));
    if constexpr (kCut == Cut::kDown) {
      const Vector larger = hn::BitCast(d, hn::Add(bits, ulp));
      const Vector below = hn::IfThenElse(hn::Lt(sum, set(0)), larger, smaller);
      sum = hn::IfThenElse(hn::Lt(lost, set(0)), below, sum);
    } else {
      sum = hn::IfThenElse(hn::Lt(hn::Mul(lost, sum), set(0)), smaller, sum);
    }
  }
  return to_float<kCut>(sum);
}

HWY_INLINE Vector to_float_by(Cut cut, Vector value) {
  if (cut == Cut::kTowardZero) return to_float<Cut::kTowardZero>(value);
  return cut == Cut::kDown ? to_float<Cut::kDown>(value) : to_float<Cut::kNearest>(value);
}

HWY_INLINE Vector add_float_by(Cut cut, Vector one, Vector other) {
  if (cut == Cut::kTowardZero) return add_float<Cut::kTowardZero>(one, other);
  return cut == Cut::kDown ? add_float<Cut::kDown>(one, other)
                           : add_float<Cut::kNearest>(one, other);
}

// Few units keep less than float32, so this need not be fast.
HWY_INLINE Vector kept_sum(Accumulator accumulator, Vector sum) {
  const Doubles d;
  double lanes[kLanes];
  hn::StoreU(sum, d, lanes);
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    lanes[lane] = rounded_sum(accumulator, static_cast<float>(lanes[lane]));
  }
  return hn::LoadU(d, lanes);
}

template <Cut kCut>
void add_lanes(const Unit& unit, const Terms& terms, double* sums) {
  const Doubles d;
  const Vector fraction = set(static_cast<double>(std::int64_t{1} << unit.bits));
  const bool broadcast = terms.left_stride == 1;
  const bool narrow = unit.accumulator != Accumulator::kFloat32;
  Vector sum = hn::LoadU(d, sums);
  Vector products[kMostBlock];
  for (std::int64_t start = 0; start < terms.count; start += unit.block) {
    const std::int64_t length = HWY_MIN(unit.block, terms.count - start);
    Vector top = unit.joined ? power(sum) : set(0);
    for (std::int64_t k = 0; k < length; ++k) {
      const double* at = terms.left + (start + k) * terms.left_stride;
      const Vector left = broadcast ? set(*at) : hn::LoadU(d, at);
      const Vector right = hn::LoadU(d, terms.right + (start + k) * kLanes);
      products[k] = hn::Mul(left, right);
      top = hn::Max(top, unit.normalized ? power(products[k]) : hn::Mul(power(left), power(right)));
    }
    top = hn::Max(top, set(kNothing));
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(top, set(kEverything))))) {
      Vector plain = sum;  // something is not finite, and so is the sum
      for (std::int64_t k = 0; k < length; ++k) plain = hn::Add(plain, products[k]);
      sum = hn::PromoteTo(d, hn::DemoteTo(Floats(), plain));
      if (narrow) sum = kept_sum(unit.accumulator, sum);
      continue;
    }
    const Vector scale = hn::Div(fraction, top);
    Vector total = unit.joined ? whole<kCut>(hn::Mul(sum, scale)) : set(0);
    for (std::int64_t k = 0; k < length; ++k) {
      total = hn::Add(total, whole<kCut>(hn::Mul(products[k], scale)));
    }
    const Vector value = hn::Mul(total, hn::Div(top, fraction));
    const Vector part = to_float_by(unit.sum, value);
    sum = unit.joined ? part : add_float_by(unit.sum, sum, part);
    if (narrow) sum = kept_sum(unit.accumulator, sum);
  }
  hn::StoreU(sum, d, sums);
}

void add_with_target(const Unit& unit, const Terms& terms, double* sums) {
  const std::int64_t width = static_cast<std::int64_t>(hn::Lanes(Doubles()));
  for (std::int64_t lane = 0; lane < kLanes; lane += width) {
    const bool broadcast = terms.left_stride == 1;
    const Terms shifted{broadcast ? terms.left : terms.left + lane, terms.right + lane,
                        terms.left_stride, terms.count};
    switch (unit.cut) {
      case Cut::kTowardZero:
        add_lanes<Cut::kTowardZero>(unit, shifted, sums + lane);
        break;
      case Cut::kDown:
        add_lanes<Cut::kDown>(unit, shifted, sums + lane);
        break;
      case Cut::kNearest:
        add_lanes<Cut::kNearest>(unit, shifted, sums + lane);
        break;
    }
  }
}

}  // namespace
}  // namespace msprobe::units::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace msprobe::units {

HWY_EXPORT(add_with_target);

void add_terms(const Unit& unit, const Terms& terms, double* sums) {
  HWY_DYNAMIC_DISPATCH(add_with_target)(unit, terms, sums);
}

}  // namespace msprobe::units
#endif
