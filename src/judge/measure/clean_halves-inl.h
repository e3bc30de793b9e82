// SPDX-License-Identifier: Apache-2.0
// The short way through the kernel for half types against float32 or against themselves. Included
// once per vector target.
#if defined(MSPROBE_MEASURE_CLEAN_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_CLEAN_HALVES_INL_H_
#undef MSPROBE_MEASURE_CLEAN_HALVES_INL_H_
#else
#define MSPROBE_MEASURE_CLEAN_HALVES_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>

#include "measure/clean_vectors-inl.h"
#include "measure/halves-inl.h"
#include "measure/tensor_pair.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

// As CleanVectors, in vectors of floats, twice as many lanes. D is within a factor of 2 of B there,
// so D - B is exact in float, and with it E, U and their maxima. R is a float within a relative
// 2^-22 of the double that defines it; where that leaves something open, the vector is not clean:
// where R may be on either side of 0.001 or 0.0001, and where it may be the largest so far.
template <class Traits>
class CleanHalves {
 public:
  static constexpr std::size_t kFloatSum = HWY_NAMESPACE::kFloatSum;

  explicit CleanHalves(const TensorPair& pair)
      : lowest_(bits(set_float(lowest(pair)))),
        highest_(bits(set_float(std::min(pair.format.device.overflow, 0x1p60)))),
        largest_(bits(set_float(std::numeric_limits<float>::denorm_min()))),
        clean_error_(set_float(clean_error<Traits>(pair) * (1 - 0x1p-20))),
        eps_(set_float(pair.format.eps)),
        rounding_(half_rounding(pair)),
        ulp_scale_(hn::Set(Words(), (254 + pair.format.ulp_mantissa_bits) << 23)) {}

  static std::size_t lanes() { return hn::Lanes(Floats()); }

  template <class Device, class Bench>
  HWY_INLINE bool add(const Device* device, const Bench* bench) {
    return add(load_as(Floats(), device), load_as(Floats(), bench));
  }

  // Called at least every kFloatSum elements.
  HWY_INLINE void flush() {
    bench_squares_.flush();
    cross_.flush();
    error_squares_.flush();
    relative_sum_.flush();
    ulp_sum_.flush();
  }

  // The largest R that was found elsewhere. Vectors below it need not be looked at in double.
  void raise_largest(double relative) {
    constexpr double kLeast = std::numeric_limits<float>::denorm_min();
    largest_ = bits(set_float(std::max(relative * (1 - kRelativeDoubt), kLeast)));
  }

  // What was found in the `count` elements added. The largest R is among the vectors refused.
  Tally tally(std::uint64_t count) const {
    Tally tally;
    tally.count = count;
    tally.normal = count;
    tally.max_abs_error = maximum_of(error_max_);
    tally.error_squares = error_squares_.total();
    tally.products = products(bench_squares_.total(), cross_.total(), tally.error_squares);
    tally.relative_errors_sum = relative_sum_.total();
    tally.ulp_errors_sum = ulp_sum_.total();
    tally.max_ulp_error = maximum_of(ulp_max_);
    tally.within_100 = count;
    tally.within_1000 = within_.first();
    tally.within_10000 = within_.second();
    const std::uint64_t below = signs_.first();
    const std::uint64_t level = signs_.second();
    const std::uint64_t above = count - level - below;
    tally.balance = static_cast<std::int64_t>(above) - static_cast<std::int64_t>(below);
    const auto equal = static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(Words(), equal_)));
    tally.different = count - (Traits::kRounds ? equal : level);
    return tally;
  }

 private:
  static double lowest(const TensorPair& pair) {
    return std::max({pair.thresholds.small_value, pair.format.device.smallest_normal, 0x1p-30});
  }
  HWY_INLINE bool add(Float device, Float bench) {
    const Float magnitude = hn::Abs(bench);
    const Float difference = hn::Sub(device, bench);
    const Float error = hn::Abs(difference);
    const Float relative = hn::Div(error, hn::Add(magnitude, eps_));
    const auto in_range =
        hn::And(hn::Gt(bits(magnitude), lowest_), hn::Gt(highest_, bits(magnitude)));
    const auto close = hn::And(hn::Gt(bits(hn::Mul(magnitude, clean_error_)), bits(error)),
                               hn::Gt(largest_, bits(relative)));
    const Word neighbours = neighbours_of(relative);
    const auto doubt = hn::Or(in_doubt<0.001>(neighbours), in_doubt<0.0001>(neighbours));
    if (HWY_UNLIKELY(!hn::AllTrue(Words(), hn::AndNot(doubt, hn::And(in_range, close)))))
      return false;
    const Float power = power_of_two_below(magnitude);
    const Float units = ulp_error(error, power, ulp_scale_);
    relative_sum_.add(relative);
    ulp_sum_.add(units);
    error_max_ = hn::Max(error_max_, error);
    ulp_max_ = hn::Max(ulp_max_, units);
    within_.add(Floats(), hn::Lt(relative, hn::Set(Floats(), 0.001F)),
                hn::Lt(relative, hn::Set(Floats(), 0.0001F)));
    bench_squares_.add(bench, bench);
    cross_.add(difference, bench);
    error_squares_.add(error, error);
    add_signs(device, bench, difference, power);
    return true;
  }

  HWY_INLINE void add_signs(Float device, Float bench, Float difference, Float power) {
    const Word zero = hn::Zero(Words());
    if (Traits::kRounds) {
      const Float shift = hn::Mul(power, rounding_);
      const Word off = bits(hn::Sub(device, hn::Sub(hn::Add(bench, shift), shift)));
      signs_.add(Words(), hn::Gt(zero, off), hn::Eq(off, zero));
      equal_ = hn::Sub(equal_, hn::VecFromMask(Words(), hn::Eq(bits(device), bits(bench))));
    } else {
      const Word off = bits(difference);
      signs_.add(Words(), hn::Gt(zero, off), hn::Eq(off, zero));
    }
  }

  Word lowest_;
  Word highest_;
  Word largest_;
  Float clean_error_;
  Float eps_;
  Float rounding_;
  Word ulp_scale_;

  FloatSum bench_squares_;
  FloatSum cross_;  // of (D - B) * B
  FloatSum error_squares_;
  FloatSum relative_sum_;
  FloatSum ulp_sum_;
  Float error_max_ = hn::Zero(Floats());
  Float ulp_max_ = hn::Zero(Floats());
  TwoCounters<Floats> within_;      // R below 0.001 and 0.0001
  TwoCounters<Floats> signs_;       // D below B', D equal to B'
  Word equal_ = hn::Zero(Words());  // D equal to B, where B is rounded
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
