// SPDX-License-Identifier: Apache-2.0
// The long way through the kernel. Included once per vector target.
#if defined(MSPROBE_MEASURE_ANY_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_ANY_VECTORS_INL_H_
#undef MSPROBE_MEASURE_ANY_VECTORS_INL_H_
#else
#define MSPROBE_MEASURE_ANY_VECTORS_INL_H_
#endif

#include <cmath>

#include "measure/tensor_pair.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

// Vectors with small values or larger errors are held against every threshold; NaN and infinity are
// taken care of first.
template <class Traits>
class AnyVectors {
 public:
  explicit AnyVectors(const TensorPair& pair)
      : eps_(set(pair.format.eps)),
        smallest_normal_(set(pair.format.device.smallest_normal)),
        overflow_(set(pair.format.device.overflow)),
        rounding_(set(pair.format.device.rounding)),
        infinite_from_(set(pair.format.infinite_from)),
        nan_above_(set(pair.format.nan_above)),
        ulp_scale_(hn::Set(Signed(), ulp_scale(pair.format.ulp_mantissa_bits))),
        small_value_(set(pair.thresholds.small_value)),
        small_value_atol_(set(pair.thresholds.small_value_atol)),
        absolute_small_value_atol_(set(pair.thresholds.absolute_small_value_atol)),
        rtol_(set(pair.thresholds.rtol)),
        ulp_count_(set(pair.thresholds.ulp_count)) {}

  // REQUIRES: `count` is a multiple of the lanes.
  template <class Device, class Bench>
  HWY_NOINLINE void add(const Device* device, const Bench* bench, std::size_t count) {
    for (std::size_t i = 0; i < count; i += hn::Lanes(Doubles())) {
      add(load(device + i), load(bench + i));
    }
  }

  double max_relative_error() const { return maximum(relative_max_); }
  double max_abs_error() const { return error_nan_ ? kNaN : maximum(error_max_); }
  double max_ulp_error() const { return std::isnan(total(ulp_sum_)) ? kNaN : maximum(ulp_max_); }
  CosineSums products() const {
    return {.dot = total(dot_),
            .device_squares = total(device_squares_),
            .bench_squares = total(bench_squares_)};
  }

  // What was found in the elements added.
  Tally tally() const {
    Tally tally;
    tally.count = count_;
    tally.max_abs_error = max_abs_error();
    tally.max_relative_error = max_relative_error();
    tally.products = products();
    tally.error_squares = total(error_squares_);
    tally.relative_errors_sum = total(relative_sum_);
    if (Traits::kUlp) {
      tally.ulp_errors = ulp_and_relative_errors_.first();
      tally.ulp_errors_sum = total(ulp_sum_);
      tally.max_ulp_error = max_ulp_error();
    }
    const auto above = static_cast<std::int64_t>(signs_.first());
    tally.balance = above - static_cast<std::int64_t>(signs_.second());
    tally.different = count_ - equal_and_within_100_.first();
    tally.within_100 = equal_and_within_100_.second();
    tally.within_1000 = within_.first();
    tally.within_10000 = within_.second();
    tally.relative_errors = ulp_and_relative_errors_.second();
    tally.small = small_and_normal_.first();
    tally.normal = small_and_normal_.second();
    tally.small_errors = small_errors_.first();
    tally.absolute_small_errors = small_errors_.second();
    tally.not_finite = count_ - tally.small - tally.normal;
    tally.not_finite_errors = not_finite_errors_;
    return tally;
  }

 private:
  HWY_INLINE void add(Vector device, Vector bench) {
    const Vector magnitude = hn::Abs(bench);
    const Vector error = hn::Abs(hn::Sub(device, bench));
    const Vector relative = hn::Div(error, hn::Add(magnitude, eps_));
    const Vector power = hn::Max(power_of_two_below(magnitude), smallest_normal_);
    const Mask finite =
        hn::And(hn::Lt(hn::Abs(device), set(kInfinity)), hn::Lt(magnitude, overflow_));
    Vector cast = Traits::kRounds ? round_bench(bench, power, rounding_) : bench;
    Vector units = ulp_error(error, power, ulp_scale_);
    Vector error_or_zero = error;
    if (HWY_UNLIKELY(!hn::AllTrue(Doubles(), finite))) {
      add_not_finite(device, bench, finite);
      error_or_zero = hn::IfThenZeroElse(is_nan(error), error);
      cast = hn::IfThenElse(hn::Ge(magnitude, overflow_), hn::Mul(bench, set(kInfinity)), cast);
      units = hn::IfThenElse(hn::Eq(magnitude, set(kInfinity)), set(kNaN), units);
    }
    count_ += hn::Lanes(Doubles());
    dot_ = hn::MulAdd(device, bench, dot_);
    device_squares_ = hn::MulAdd(device, device, device_squares_);
    bench_squares_ = hn::MulAdd(bench, bench, bench_squares_);
    error_max_ = hn::Max(error_max_, error_or_zero);
    signs_.add(Doubles(), hn::Gt(device, cast), hn::Lt(device, cast));
    equal_and_within_100_.add(Doubles(), hn::Eq(device, bench), hn::Lt(relative, set(0.01)));
    within_.add(Doubles(), hn::Lt(relative, set(0.001)), hn::Lt(relative, set(0.0001)));
    if (Traits::kUlp) {
      ulp_sum_ = hn::Add(ulp_sum_, units);
      ulp_max_ = hn::Max(ulp_max_, units);
    }
    add_by_size(finite, magnitude, error, relative, units);
  }

  HWY_INLINE void add_by_size(Mask finite, Vector magnitude, Vector error, Vector relative,
                              Vector units) {
    const Mask small = hn::And(finite, hn::Le(magnitude, small_value_));
    const Mask normal = hn::AndNot(small, finite);
    small_and_normal_.add(Doubles(), small, normal);
    small_errors_.add(Doubles(), hn::And(small, hn::Gt(error, small_value_atol_)),
                      hn::And(small, hn::Gt(error, absolute_small_value_atol_)));
    ulp_and_relative_errors_.add(Doubles(), hn::Gt(units, ulp_count_),
                                 hn::And(normal, hn::Gt(relative, rtol_)));
    const Vector normal_error = hn::IfThenElseZero(normal, error);
    const Vector normal_relative = hn::IfThenElseZero(normal, relative);
    error_squares_ = hn::MulAdd(normal_error, normal_error, error_squares_);
    relative_sum_ = hn::Add(relative_sum_, normal_relative);
    relative_max_ = hn::Max(relative_max_, normal_relative);
  }

  // The lanes that are not finite: which of them behave otherwise than bench rounded to the
  // device's dtype.
  HWY_INLINE void add_not_finite(Vector device, Vector bench, Mask finite) {
    const Vector magnitude = hn::Abs(bench);
    const Mask nan = is_nan(device);
    const Mask wants_nan = hn::Or(is_nan(bench), hn::Gt(magnitude, nan_above_));
    const Mask infinite = hn::Eq(hn::Abs(device), set(kInfinity));
    const Mask wants_infinity = hn::AndNot(wants_nan, hn::Ge(magnitude, infinite_from_));
    const Mask opposite = hn::Xor(hn::Lt(device, set(0)), hn::Lt(bench, set(0)));
    const Mask differs = hn::Or(hn::Or(hn::Xor(nan, wants_nan), hn::Xor(infinite, wants_infinity)),
                                hn::And(hn::And(infinite, wants_infinity), opposite));
    not_finite_errors_ += hn::CountTrue(Doubles(), hn::AndNot(finite, differs));
    error_nan_ = error_nan_ || !hn::AllFalse(Doubles(), is_nan(hn::Sub(device, bench)));
  }

  Vector eps_;
  Vector smallest_normal_;
  Vector overflow_;
  Vector rounding_;
  Vector infinite_from_;
  Vector nan_above_;
  Integers ulp_scale_;
  Vector small_value_;
  Vector small_value_atol_;
  Vector absolute_small_value_atol_;
  Vector rtol_;
  Vector ulp_count_;

  Vector dot_ = set(0);
  Vector device_squares_ = set(0);
  Vector bench_squares_ = set(0);
  Vector error_squares_ = set(0);
  Vector relative_sum_ = set(0);
  Vector ulp_sum_ = set(0);
  Vector error_max_ = set(0);
  Vector relative_max_ = set(0);
  Vector ulp_max_ = set(0);
  TwoCounters<Doubles> signs_;  // D above B', D below B'
  TwoCounters<Doubles> equal_and_within_100_;
  TwoCounters<Doubles> within_;  // R below 0.001 and 0.0001
  TwoCounters<Doubles> ulp_and_relative_errors_;
  TwoCounters<Doubles> small_and_normal_;
  TwoCounters<Doubles> small_errors_;  // E above small_value_atol, above absolute_small_value_atol
  std::uint64_t count_ = 0;
  std::uint64_t not_finite_errors_ = 0;
  bool error_nan_ = false;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
