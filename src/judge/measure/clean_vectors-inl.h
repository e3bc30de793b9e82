// SPDX-License-Identifier: Apache-2.0
// The short way through the kernel. Included once per vector target.
#if defined(MSPROBE_MEASURE_CLEAN_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_CLEAN_VECTORS_INL_H_
#undef MSPROBE_MEASURE_CLEAN_VECTORS_INL_H_
#else
#define MSPROBE_MEASURE_CLEAN_VECTORS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "measure/tensor_pair.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

// A vector is clean when every |B| is above `lowest` and below `highest` and every E is below
// clean_error * |B|. Then each element is finite and normal, R is below 0.01 (0.0001 unless coarse)
// and not above rtol, and U is not above ulp_count, because R is at most E / |B| and U below
// 2^(mantissa_bits + 1) * E / |B|. What is compared is rounded: the caller leaves room for that.
template <class Traits>
double clean_error(const TensorPair& pair) {
  const double limit = std::min(Traits::kCoarse ? 0.01 : 0.0001, pair.thresholds.rtol);
  if (!Traits::kUlp) return limit;
  return std::min(limit, std::ldexp(pair.thresholds.ulp_count, -pair.format.ulp_mantissa_bits - 1));
}

// D = B + (D - B) gives the products with D from those with the difference, which clean vectors
// need anyway.
inline CosineSums products(double bench_squares, double cross, double error_squares) {
  return {.dot = bench_squares + cross,
          .dot_imaginary = 0,
          .device_squares = bench_squares + 2 * cross + error_squares,
          .bench_squares = bench_squares};
}

// Vectors without anything remarkable add to sums, maxima and signs only.
template <class Traits>
class CleanVectors {
 public:
  explicit CleanVectors(const TensorPair& pair)
      : lowest_(
            bits(set(std::max(pair.thresholds.small_value, pair.format.device.smallest_normal)))),
        overflow_(bits(set(pair.format.device.overflow))),
        clean_error_(set(clean_error<Traits>(pair) * (1 - 0x1p-50))),
        eps_(set(pair.format.eps)),
        rounding_(set(pair.format.device.rounding)),
        ulp_scale_(hn::Set(Signed(), ulp_scale(pair.format.ulp_mantissa_bits))) {}

  static constexpr std::size_t kFloatSum = 0;  // none

  static std::size_t lanes() { return hn::Lanes(Doubles()); }

  // Adds lanes() elements if they are clean.
  template <class Device, class Bench>
  HWY_INLINE bool add(const Device* device, const Bench* bench) {
    return add(load(device), load(bench));
  }

  // What was found in the `count` elements added.
  Tally tally(std::uint64_t count) const {
    Tally tally;
    tally.count = count;
    tally.normal = count;
    tally.max_abs_error = maximum(error_max_);
    tally.max_relative_error = maximum(relative_max_);
    tally.error_squares = total(error_squares_);
    tally.products = products(total(bench_squares_), total(cross_), tally.error_squares);
    tally.relative_errors_sum = total(relative_sum_);
    if (Traits::kUlp) {
      tally.ulp_errors_sum = total(ulp_sum_);
      tally.max_ulp_error = maximum(ulp_max_);
    }
    tally.within_100 = count;
    tally.within_1000 = Traits::kCoarse ? within_.first() : count;
    tally.within_10000 = Traits::kCoarse ? within_.second() : count;
    const std::uint64_t below = signs_.first();
    const std::uint64_t level = signs_.second();
    const std::uint64_t above = count - level - below;
    tally.balance = static_cast<std::int64_t>(above) - static_cast<std::int64_t>(below);
    const auto equal = static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(Signed(), equal_)));
    tally.different = count - (Traits::kRounds ? equal : level);
    return tally;
  }

 private:
  // Numbers that are not negative compare as their bits do;
  // that leaves the units that add and multiply to the sums. A NaN is above every number.
  HWY_INLINE bool add(Vector device, Vector bench) {
    const Vector magnitude = hn::Abs(bench);
    const Vector difference = hn::Sub(device, bench);
    const Vector error = hn::Abs(difference);
    const auto in_range =
        hn::And(hn::Gt(bits(magnitude), lowest_), hn::Gt(overflow_, bits(magnitude)));
    const auto close = hn::Gt(bits(hn::Mul(magnitude, clean_error_)), bits(error));
    if (HWY_UNLIKELY(!hn::AllTrue(Signed(), hn::And(in_range, close)))) return false;

    const Vector power = power_of_two_below(magnitude);
    const Vector relative = hn::Div(error, hn::Add(magnitude, eps_));
    bench_squares_ = hn::MulAdd(bench, bench, bench_squares_);
    cross_ = hn::MulAdd(difference, bench, cross_);
    error_squares_ = hn::MulAdd(error, error, error_squares_);
    relative_sum_ = hn::Add(relative_sum_, relative);
    error_max_ = hn::Max(error_max_, error);
    relative_max_ = hn::Max(relative_max_, relative);
    if (Traits::kUlp) {
      const Vector units = ulp_error(error, power, ulp_scale_);
      ulp_sum_ = hn::Add(ulp_sum_, units);
      ulp_max_ = hn::Max(ulp_max_, units);
    }
    if (Traits::kCoarse) {
      within_.add(Signed(), hn::Gt(bits(set(0.001)), bits(relative)),
                  hn::Gt(bits(set(0.0001)), bits(relative)));
    }
    add_signs(device, bench, difference, power);
    return true;
  }

  // Neither side is 0 here, so equal numbers have equal bits and their difference is +0.
  HWY_INLINE void add_signs(Vector device, Vector bench, Vector difference, Vector power) {
    const Integers zero = hn::Zero(Signed());
    if (Traits::kRounds) {
      const Integers off = bits(hn::Sub(device, round_bench(bench, power, rounding_)));
      signs_.add(Signed(), hn::Gt(zero, off), hn::Eq(off, zero));
      equal_ = hn::Sub(equal_, hn::VecFromMask(Signed(), hn::Eq(bits(device), bits(bench))));
    } else {
      const Integers off = bits(difference);
      signs_.add(Signed(), hn::Gt(zero, off), hn::Eq(off, zero));
    }
  }

  Integers lowest_;
  Integers overflow_;
  Vector clean_error_;
  Vector eps_;
  Vector rounding_;
  Integers ulp_scale_;

  Vector bench_squares_ = set(0);
  Vector cross_ = set(0);  // (D - B) * B
  Vector error_squares_ = set(0);
  Vector relative_sum_ = set(0);
  Vector ulp_sum_ = set(0);
  Vector error_max_ = set(0);
  Vector relative_max_ = set(0);
  Vector ulp_max_ = set(0);
  TwoCounters<Doubles> within_;          // R below 0.001 and 0.0001, where coarse
  TwoCounters<Doubles> signs_;           // D below B', D equal to B'
  Integers equal_ = hn::Zero(Signed());  // D equal to B, where B is rounded
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
