// The long way through the kernel. Included once per vector target.
#if defined(MSPROBE_MEASURE_ANY_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_ANY_VECTORS_INL_H_
#undef MSPROBE_MEASURE_ANY_VECTORS_INL_H_
#else
#define MSPROBE_MEASURE_ANY_VECTORS_INL_H_
#endif

#include <cmath>

#include "measure/pair.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

// Vectors with small values or larger errors are held against every threshold; NaN and infinity are
// taken care of first.
template <class Traits>
class AnyVectors {
 public:
  explicit AnyVectors(const Pair& pair) : pair_(pair) {}

  HWY_INLINE void add(Vector device, Vector bench) {
    const FloatFormat& format = pair_.format.device;
    const Vector magnitude = hn::Abs(bench);
    const Vector error = hn::Abs(hn::Sub(device, bench));
    const Vector relative = hn::Div(error, hn::Add(magnitude, set(pair_.format.eps)));
    const Vector power = hn::Max(power_of_two_below(magnitude), set(format.smallest_normal));
    const Mask finite =
        hn::And(hn::Lt(hn::Abs(device), set(kInfinity)), hn::Lt(magnitude, set(format.overflow)));
    Vector cast = Traits::kRounds ? round_bench(bench, power, set(format.rounding)) : bench;
    Vector units =
        ulp_error(error, power, hn::Set(Signed(), ulp_scale(pair_.format.ulp_mantissa_bits)));
    Vector error_or_zero = error;
    if (HWY_UNLIKELY(!hn::AllTrue(Doubles(), finite))) {
      add_not_finite(device, bench, finite);
      error_or_zero = hn::IfThenZeroElse(hn::IsNaN(error), error);
      cast = hn::IfThenElse(hn::Ge(magnitude, set(format.overflow)),
                            hn::CopySign(set(kInfinity), bench), cast);
      units = hn::IfThenElse(hn::Eq(magnitude, set(kInfinity)), set(kNaN), units);
    }
    count_ += hn::Lanes(Doubles());
    dot_ = hn::MulAdd(device, bench, dot_);
    device_squares_ = hn::MulAdd(device, device, device_squares_);
    bench_squares_ = hn::MulAdd(bench, bench, bench_squares_);
    error_max_ = hn::Max(error_max_, error_or_zero);
    signs_.add(hn::Gt(device, cast), hn::Lt(device, cast));
    equal_and_within_100_.add(hn::Eq(device, bench), hn::Lt(relative, set(0.01)));
    within_.add(hn::Lt(relative, set(0.001)), hn::Lt(relative, set(0.0001)));
    if (Traits::kUlp) {
      ulp_sum_ = hn::Add(ulp_sum_, units);
      ulp_max_ = hn::Max(ulp_max_, units);
    }
    add_by_size(finite, magnitude, error, relative, units);
  }

  // What was found in the elements added.
  Tally tally() const {
    Tally tally;
    tally.count = count_;
    tally.max_abs_error = error_nan_ ? kNaN : maximum(error_max_);
    tally.max_relative_error = maximum(relative_max_);
    tally.products = {.dot = total(dot_),
                      .device_squares = total(device_squares_),
                      .bench_squares = total(bench_squares_)};
    tally.error_squares = total(error_squares_);
    tally.relative_errors_sum = total(relative_sum_);
    if (Traits::kUlp) {
      tally.ulp_errors = ulp_and_relative_errors_.first();
      tally.ulp_errors_sum = total(ulp_sum_);
      tally.max_ulp_error = std::isnan(tally.ulp_errors_sum) ? kNaN : maximum(ulp_max_);
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
  HWY_INLINE void add_by_size(Mask finite, Vector magnitude, Vector error, Vector relative,
                              Vector units) {
    const Thresholds& limits = pair_.thresholds;
    const Mask small = hn::And(finite, hn::Le(magnitude, set(limits.small_value)));
    const Mask normal = hn::AndNot(small, finite);
    small_and_normal_.add(small, normal);
    small_errors_.add(hn::And(small, hn::Gt(error, set(limits.small_value_atol))),
                      hn::And(small, hn::Gt(error, set(limits.absolute_small_value_atol))));
    ulp_and_relative_errors_.add(hn::Gt(units, set(limits.ulp_count)),
                                 hn::And(normal, hn::Gt(relative, set(limits.rtol))));
    const Vector normal_error = hn::IfThenElseZero(normal, error);
    const Vector normal_relative = hn::IfThenElseZero(normal, relative);
    error_squares_ = hn::MulAdd(normal_error, normal_error, error_squares_);
    relative_sum_ = hn::Add(relative_sum_, normal_relative);
    relative_max_ = hn::Max(relative_max_, normal_relative);
  }

  // The lanes that are not finite: which of them behave otherwise than bench rounded to the
  // device's dtype.
  HWY_INLINE void add_not_finite(Vector device, Vector bench, Mask finite) {
    const PairFormat& format = pair_.format;
    const Vector magnitude = hn::Abs(bench);
    const Mask nan = hn::IsNaN(device);
    const Mask wants_nan = hn::Or(hn::IsNaN(bench), hn::Gt(magnitude, set(format.nan_above)));
    const Mask infinite = hn::Eq(hn::Abs(device), set(kInfinity));
    const Mask wants_infinity = hn::AndNot(wants_nan, hn::Ge(magnitude, set(format.infinite_from)));
    const Mask opposite = hn::Ne(hn::CopySign(set(1), device), hn::CopySign(set(1), bench));
    const Mask differs = hn::Or(hn::Or(hn::Xor(nan, wants_nan), hn::Xor(infinite, wants_infinity)),
                                hn::And(hn::And(infinite, wants_infinity), opposite));
    not_finite_errors_ += hn::CountTrue(Doubles(), hn::AndNot(finite, differs));
    error_nan_ = error_nan_ || !hn::AllFalse(Doubles(), hn::IsNaN(hn::Sub(device, bench)));
  }

  const Pair& pair_;
  Vector dot_ = set(0);
  Vector device_squares_ = set(0);
  Vector bench_squares_ = set(0);
  Vector error_squares_ = set(0);
  Vector relative_sum_ = set(0);
  Vector ulp_sum_ = set(0);
  Vector error_max_ = set(0);
  Vector relative_max_ = set(0);
  Vector ulp_max_ = set(0);
  TwoCounters signs_;  // D above B', D below B'
  TwoCounters equal_and_within_100_;
  TwoCounters within_;  // R below 0.001 and 0.0001
  TwoCounters ulp_and_relative_errors_;
  TwoCounters small_and_normal_;
  TwoCounters small_errors_;  // E above small_value_atol, above absolute_small_value_atol
  std::uint64_t count_ = 0;
  std::uint64_t not_finite_errors_ = 0;
  bool error_nan_ = false;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
