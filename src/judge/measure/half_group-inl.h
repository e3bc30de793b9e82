// SPDX-License-Identifier: Apache-2.0
// A few elements of half types, measured in floats. Included once per vector target.
#if defined(MSPROBE_MEASURE_HALF_GROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_HALF_GROUP_INL_H_
#undef MSPROBE_MEASURE_HALF_GROUP_INL_H_
#else
#define MSPROBE_MEASURE_HALF_GROUP_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "measure/halves-inl.h"
#include "measure/tensor_pair.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

// A threshold for numbers that are known as floats only: from `low` to `high` it is open which of
// its sides they are on.
struct OpenLimit {
  OpenLimit(double lowest, double highest)
      : low(set_float(lowest)), high(hn::Set(Floats(), float_above(highest))) {}

  HWY_INLINE FloatMask above(Float value) const { return hn::Gt(value, high); }
  HWY_INLINE FloatMask open(Float value, FloatMask is_above) const {
    return hn::AndNot(is_above, hn::Ge(value, low));
  }

  Float low;
  Float high;
};

// What a group is held against.
struct HalfLimits {
  explicit HalfLimits(const TensorPair& pair)
      : eps(set_float(pair.format.eps)),
        smallest_normal(set_float(pair.format.device.smallest_normal)),
        highest(set_float(std::min(pair.format.device.overflow, 0x1p60))),
        overflow(hn::Set(Floats(), float_above(pair.format.device.overflow))),
        infinite_from(set_float(pair.format.infinite_from)),
        rounding(half_rounding(pair)),
        ulp_shift(ulp_shift_of(pair)),
        ulp_scale(hn::Set(Words(), (254 + pair.format.ulp_mantissa_bits - ulp_shift) << 23)),
        ulp_count(set_float(std::ldexp(pair.thresholds.ulp_count, -ulp_shift))),
        small_value(set_float(pair.thresholds.small_value)),
        small_value_atol(pair.thresholds.small_value_atol, pair.thresholds.small_value_atol),
        absolute_small_value_atol(pair.thresholds.absolute_small_value_atol,
                                  pair.thresholds.absolute_small_value_atol),
        rtol(pair.thresholds.rtol * (1 - kRelativeDoubt),
             pair.thresholds.rtol * (1 + kRelativeDoubt)) {}

  // Whether the thresholds allow a group to be measured in floats: normal elements are above 2^-30,
  // so that squares of their errors do not vanish; the number of units is a float, and where U is
  // that number, D is within a factor of 2 of B (or B is not a normal number).
  static bool fit(const TensorPair& pair) {
    const double count = std::ldexp(pair.thresholds.ulp_count, -ulp_shift_of(pair));
    return pair.thresholds.small_value >= 0x1p-30 && float_below(count) == count &&
           pair.thresholds.ulp_count <= std::ldexp(1, pair.format.ulp_mantissa_bits - 2);
  }

  // Units of bfloat16 may be so small that their reciprocals overflow: U is kept as 2^-64 of
  // itself there. It is at least 2^-16 or 0, so nothing vanishes.
  static int ulp_shift_of(const TensorPair& pair) {
    return pair.format.ulp_smallest_normal < 0x1p-100 ? 64 : 0;
  }

  Float eps;
  Float smallest_normal;
  Float highest;  // from here on, |B| is not finite as the device's dtype, or U is out of range
  Float overflow;
  Float infinite_from;
  Float rounding;
  int ulp_shift;
  Word ulp_scale;
  Float ulp_count;
  Float small_value;
  OpenLimit small_value_atol;
  OpenLimit absolute_small_value_atol;
  OpenLimit rtol;
};

// Sums, counts and maxima of at most kFloatSum elements. E and U are rounded to float here, and R
// is within kRelativeDoubt of the double that defines it.
template <class Traits>
struct HalfGroup {
  // Written out as that of TwoCounters.
  HalfGroup() {}

  HWY_INLINE void add(const HalfLimits& limits, Float device, Float bench) {
    const Float magnitude = hn::Abs(bench);
    const Float difference = hn::Sub(device, bench);
    const Float error = hn::Abs(difference);
    const Float relative = hn::Div(error, hn::Add(magnitude, limits.eps));
    const Float power = hn::Max(power_of_two_below(magnitude), limits.smallest_normal);
    const Float infinity = hn::Set(Floats(), std::numeric_limits<float>::infinity());
    FloatMask finite =
        hn::And(hn::Lt(hn::Abs(device), infinity), hn::Lt(magnitude, limits.highest));
    Float cast = Traits::kRounds ? round_bench(bench, power, limits.rounding) : bench;
    Float units = ulp_error(error, power, limits.ulp_scale);
    if (HWY_UNLIKELY(!hn::AllTrue(Floats(), finite))) {
      open_if(hn::And(hn::Ge(magnitude, limits.highest), hn::Lt(magnitude, limits.overflow)));
      finite = hn::And(hn::Lt(hn::Abs(device), infinity), hn::Lt(magnitude, limits.overflow));
      add_not_finite(limits, device, bench, finite);
      cast = hn::IfThenElse(hn::Ge(magnitude, limits.overflow), hn::Mul(bench, infinity), cast);
      units = hn::IfThenElse(hn::Eq(magnitude, infinity), hn::NaN(Floats()), units);
    }
    dot = hn::MulAdd(device, bench, dot);
    device_squares = hn::MulAdd(device, device, device_squares);
    bench_squares = hn::MulAdd(bench, bench, bench_squares);
    above_and_below.add(Floats(), hn::Gt(device, cast), hn::Lt(device, cast));
    equal_and_finite.add(Floats(), hn::Eq(device, bench), finite);
    add_within(relative);
    add_units(limits, magnitude, units);
    add_maxima(device, bench, difference, units);
    add_by_size(limits, finite, magnitude, error, relative, units);
  }

  Float dot = hn::Zero(Floats());
  Float device_squares = hn::Zero(Floats());
  Float bench_squares = hn::Zero(Floats());
  Float error_squares = hn::Zero(Floats());
  Float relative_sum = hn::Zero(Floats());
  Float ulp_sum = hn::Zero(Floats());
  // As bits, see add_maxima().
  UnsignedWord error_max = hn::Zero(UnsignedWords());
  UnsignedWord relative_max = hn::Zero(UnsignedWords());
  UnsignedWord ulp_max = hn::Zero(UnsignedWords());
  TwoCounters<Floats> above_and_below;  // D above B', D below B'
  TwoCounters<Floats> equal_and_finite;
  TwoCounters<Floats> within_100_and_1000;
  TwoCounters<Floats> within_10000_and_small;
  TwoCounters<Floats> small_errors;  // E above small_value_atol, above absolute_small_value_atol
  TwoCounters<Floats> ulp_and_relative_errors;
  std::uint64_t not_finite_errors = 0;
  FloatMask open = hn::FirstN(Floats(), 0);  // elements that may be on either side of a threshold

 private:
  HWY_INLINE void open_if(FloatMask mask) { open = hn::Or(open, mask); }

  HWY_INLINE void add_within(Float relative) {
    const Word neighbours = neighbours_of(relative);
    const auto near = hn::Or(hn::Or(in_doubt<0.01>(neighbours), in_doubt<0.001>(neighbours)),
                             in_doubt<0.0001>(neighbours));
    open_if(hn::RebindMask(Floats(), near));
    within_100_and_1000.add(Floats(), hn::Lt(relative, hn::Set(Floats(), 0.01F)),
                            hn::Lt(relative, hn::Set(Floats(), 0.001F)));
  }

  // HalfLimits::fit() makes sure that U is exact at the threshold for normal numbers.
  HWY_INLINE void add_units(const HalfLimits& limits, Float magnitude, Float units) {
    ulp_sum = hn::Add(ulp_sum, units);
    open_if(hn::And(hn::Eq(units, limits.ulp_count), hn::Lt(magnitude, limits.smallest_normal)));
  }

  // Where D - B is rounded, E and U may be larger than they seem, but not as large as the next
  // float: then that one counts. Unsigned integers are ordered as the floats with their bits are,
  // NaN and what follows it last.
  HWY_INLINE void add_maxima(Float device, Float bench, Float difference, Float units) {
    const FloatMask rounded = hn::Or(hn::Ne(hn::Sub(device, difference), bench),
                                     hn::Ne(hn::Add(bench, difference), device));
    const UnsignedWord minus_one = hn::BitCast(UnsignedWords(), hn::VecFromMask(Floats(), rounded));
    error_max = hn::Max(error_max, hn::Sub(unsigned_bits(hn::Abs(difference)), minus_one));
    ulp_max = hn::Max(ulp_max, hn::Sub(unsigned_bits(units), minus_one));
  }

  HWY_INLINE void add_by_size(const HalfLimits& limits, FloatMask finite, Float magnitude,
                              Float error, Float relative, Float units) {
    const FloatMask small = hn::And(finite, hn::Le(magnitude, limits.small_value));
    const FloatMask normal = hn::AndNot(small, finite);
    within_10000_and_small.add(Floats(), hn::Lt(relative, hn::Set(Floats(), 0.0001F)), small);

    const FloatMask above = limits.small_value_atol.above(error);
    const FloatMask absolute_above = limits.absolute_small_value_atol.above(error);
    small_errors.add(Floats(), hn::And(small, above), hn::And(small, absolute_above));
    open_if(hn::And(small, hn::Or(limits.small_value_atol.open(error, above),
                                  limits.absolute_small_value_atol.open(error, absolute_above))));

    const FloatMask relative_above = limits.rtol.above(relative);
    ulp_and_relative_errors.add(Floats(), hn::Gt(units, limits.ulp_count),
                                hn::And(normal, relative_above));
    open_if(hn::And(normal, limits.rtol.open(relative, relative_above)));

    const Float normal_error = hn::IfThenElseZero(normal, error);
    const Float normal_relative = hn::IfThenElseZero(normal, relative);
    error_squares = hn::MulAdd(normal_error, normal_error, error_squares);
    relative_sum = hn::Add(relative_sum, normal_relative);
    relative_max = hn::Max(relative_max, unsigned_bits(normal_relative));
  }

  // See AnyVectors; bench never turns into NaN by rounding to a half type.
  HWY_INLINE void add_not_finite(const HalfLimits& limits, Float device, Float bench,
                                 FloatMask finite) {
    const Float zero = hn::Zero(Floats());
    const FloatMask infinite =
        hn::Eq(hn::Abs(device), hn::Set(Floats(), std::numeric_limits<float>::infinity()));
    const FloatMask wants_infinity = hn::Ge(hn::Abs(bench), limits.infinite_from);
    const FloatMask opposite = hn::Xor(hn::Lt(device, zero), hn::Lt(bench, zero));
    const FloatMask differs =
        hn::Or(hn::Or(hn::Xor(is_nan(device), is_nan(bench)), hn::Xor(infinite, wants_infinity)),
               hn::And(hn::And(infinite, wants_infinity), opposite));
    not_finite_errors += hn::CountTrue(Floats(), hn::AndNot(finite, differs));
  }
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
