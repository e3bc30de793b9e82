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
#include "measure/pair.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

// A sum in float over few elements, and in double over what has been flushed.
class FloatSum {
 public:
  FloatSum() : part_(hn::Zero(Floats())), sum_(hn::Zero(Doubles())) {}

  HWY_INLINE void add(hn::Vec<Floats> terms) { part_ = hn::Add(part_, terms); }
  HWY_INLINE void add(hn::Vec<Floats> a, hn::Vec<Floats> b) { part_ = hn::MulAdd(a, b, part_); }
  HWY_INLINE void flush() {
    const Vector lower = hn::PromoteTo(Doubles(), hn::LowerHalf(part_));
    const Vector upper = hn::PromoteTo(Doubles(), hn::UpperHalf(Singles(), part_));
    sum_ = hn::Add(sum_, hn::Add(lower, upper));
    part_ = hn::Zero(Floats());
  }
  double total() const { return HWY_NAMESPACE::total(sum_); }

 private:
  hn::Vec<Floats> part_;
  Vector sum_;
};

// As CleanVectors, in vectors of floats, twice as many lanes. D is within a factor of 2 of B there,
// so D - B is exact in float, and with it E, U and their maxima. R is a float within a relative
// 2^-22 of the double that defines it; where that leaves something open, the vector is not clean:
// where R may be on either side of 0.001 or 0.0001, and where it may be the largest so far.
template <class Traits>
class CleanHalves {
 public:
  // Sums are kept in float over at most so many elements. With 4 lanes or more that is 32 additions
  // in a row, a relative error below 2^-19; R's own and the rest included, below 2^-18.
  static constexpr std::size_t kFloatSum = 128;

  explicit CleanHalves(const Pair& pair)
      : lowest_(set_bits(rounded_down(lowest(pair)))),
        highest_(set_bits(static_cast<float>(std::min(pair.format.device.overflow, 0x1p60)))),
        largest_(set_bits(std::numeric_limits<float>::denorm_min())),
        clean_error_(set_float(rounded_down(clean_error<Traits>(pair) * (1 - 0x1p-20)))),
        eps_(set_float(static_cast<float>(pair.format.eps))),
        rounding_(set_float(static_cast<float>(std::ldexp(pair.format.device.rounding, -29)))),
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
    largest_ = set_bits(
        std::max(rounded_down(relative * (1 - 0x1p-21)), std::numeric_limits<float>::denorm_min()));
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
    tally.different = count - (Traits::kRounds ? equal_.first() : level);
    return tally;
  }

 private:
  using Words = hn::RebindToSigned<Floats>;
  using Float = hn::Vec<Floats>;
  using Word = hn::Vec<Words>;

  static double lowest(const Pair& pair) {
    return std::max({pair.thresholds.small_value, pair.format.device.smallest_normal, 0x1p-30});
  }
  static float rounded_down(double value) {
    const auto nearest = static_cast<float>(std::min(value, 0x1p100));
    return nearest > value ? std::nextafter(nearest, 0.0F) : nearest;
  }

  static HWY_INLINE Float set_float(float value) { return hn::Set(Floats(), value); }
  static HWY_INLINE Word set_bits(float value) {
    return hn::Set(Words(), std::bit_cast<std::int32_t>(value));
  }
  static HWY_INLINE Word bits(Float vector) { return hn::BitCast(Words(), vector); }
  static HWY_INLINE Float from_bits(Word vector) { return hn::BitCast(Floats(), vector); }
  static double maximum_of(Float maxima) { return hn::GetLane(hn::MaxOfLanes(Floats(), maxima)); }

  // The bits that R shares with its neighbours within a relative 2^-13 to 2^-12.
  static constexpr std::int32_t kNeighbours = ~0x7ff;

  // Whether R may be on either side of `limit`: all that come within 2^-21 of it are neighbours.
  template <double limit>
  static HWY_INLINE hn::Mask<Words> in_doubt(Word neighbours) {
    constexpr auto kLow = std::bit_cast<std::int32_t>(static_cast<float>(limit * (1 - 0x1p-21)));
    constexpr auto kHigh = std::bit_cast<std::int32_t>(static_cast<float>(limit * (1 + 0x1p-21)));
    static_assert((kLow & kNeighbours) == (kHigh & kNeighbours));
    return hn::Eq(neighbours, hn::Set(Words(), kLow & kNeighbours));
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
    const Word neighbours = hn::And(bits(relative), hn::Set(Words(), kNeighbours));
    const auto doubt = hn::Or(in_doubt<0.001>(neighbours), in_doubt<0.0001>(neighbours));
    if (HWY_UNLIKELY(!hn::AllTrue(Words(), hn::AndNot(doubt, hn::And(in_range, close)))))
      return false;
    const Float power = hn::And(magnitude, from_bits(hn::Set(Words(), 0x7f80'0000)));
    const Float units = hn::Mul(error, from_bits(hn::Sub(ulp_scale_, bits(power))));
    relative_sum_.add(relative);
    ulp_sum_.add(units);
    error_max_ = hn::Max(error_max_, error);
    ulp_max_ = hn::Max(ulp_max_, units);
    within_.add(Floats(), hn::Lt(relative, set_float(0.001F)),
                hn::Lt(relative, set_float(0.0001F)));
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
      const auto equal = hn::Eq(bits(device), bits(bench));
      equal_.add(Words(), equal, equal);
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
  TwoCounters<Floats> within_;  // R below 0.001 and 0.0001
  TwoCounters<Floats> signs_;   // D below B', D equal to B'
  TwoCounters<Floats> equal_;   // D equal to B, where B is rounded
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
