// SPDX-License-Identifier: Apache-2.0
// The words that the kernels for half types share. Included once per vector target.
#if defined(MSPROBE_MEASURE_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_HALVES_INL_H_
#undef MSPROBE_MEASURE_HALVES_INL_H_
#else
#define MSPROBE_MEASURE_HALVES_INL_H_
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "measure/tensor_pair.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

using Words = hn::RebindToSigned<Floats>;
using UnsignedWords = hn::RebindToUnsigned<Floats>;
using Word = hn::Vec<Words>;
using UnsignedWord = hn::Vec<UnsignedWords>;
using FloatMask = hn::Mask<Floats>;

// Sums are kept in float over at most so many elements. With 4 lanes or more that is 32 additions
// in a row, a relative error below 2^-19; R's own and the rest included, below 2^-18.
inline constexpr std::size_t kFloatSum = 128;

// R in float is nearer than this to the double that defines it, relatively.
inline constexpr double kRelativeDoubt = 0x1p-21;

// The largest finite float that is not above `value`. REQUIRES: value >= 0.
inline float float_below(double value) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  if (value >= kLargest) return kLargest;
  const auto nearest = static_cast<float>(value);
  return nearest > value ? std::nextafter(nearest, 0.0F) : nearest;
}

// The smallest float, infinity included, that is not below `value`. REQUIRES: value >= 0.
inline float float_above(double value) {
  const float below = float_below(value);
  return below < value ? std::nextafter(below, std::numeric_limits<float>::infinity()) : below;
}

HWY_INLINE Float set_float(double value) { return hn::Set(Floats(), float_below(value)); }
HWY_INLINE Word bits(Float vector) { return hn::BitCast(Words(), vector); }
HWY_INLINE UnsignedWord unsigned_bits(Float vector) { return hn::BitCast(UnsignedWords(), vector); }
HWY_INLINE double maximum_of(Float maxima) { return hn::GetLane(hn::MaxOfLanes(Floats(), maxima)); }

// See vectors-inl.h for the three of these.
HWY_INLINE Float power_of_two_below(Float magnitude) {
  return hn::And(magnitude, hn::BitCast(Floats(), hn::Set(Words(), 0x7f80'0000)));
}
HWY_INLINE Float round_bench(Float bench, Float power, Float rounding) {
  const Float shift = hn::Mul(power, rounding);
  return hn::Sub(hn::Add(bench, shift), shift);
}
HWY_INLINE Float ulp_error(Float error, Float power, Word scale) {
  return hn::Mul(error, hn::BitCast(Floats(), hn::Sub(scale, bits(power))));
}

// FloatFormat::rounding for sums in float, which has 29 bits less than double.
HWY_INLINE Float half_rounding(const TensorPair& pair) {
  return set_float(std::ldexp(pair.format.device.rounding, -29));
}

// The bits that R shares with its neighbours within a relative 2^-13 to 2^-12.
inline constexpr std::int32_t kNeighbours = ~0x7ff;

HWY_INLINE Word neighbours_of(Float relative) {
  return hn::And(bits(relative), hn::Set(Words(), kNeighbours));
}

// Whether R may be on either side of `limit`: all that come near enough are neighbours.
template <double limit>
HWY_INLINE hn::Mask<Words> in_doubt(Word neighbours) {
  constexpr auto kLow =
      std::bit_cast<std::int32_t>(static_cast<float>(limit * (1 - kRelativeDoubt)));
  constexpr auto kHigh =
      std::bit_cast<std::int32_t>(static_cast<float>(limit * (1 + kRelativeDoubt)));
  static_assert((kLow & kNeighbours) == (kHigh & kNeighbours));
  return hn::Eq(neighbours, hn::Set(Words(), kLow & kNeighbours));
}

HWY_INLINE Vector in_double(Float sums) {
  const Vector lower = hn::PromoteTo(Doubles(), hn::LowerHalf(sums));
  const Vector upper = hn::PromoteTo(Doubles(), hn::UpperHalf(Singles(), sums));
  return hn::Add(lower, upper);
}

// A sum in float over few elements, and in double over what has been flushed.
class FloatSum {
 public:
  FloatSum() : part_(hn::Zero(Floats())), sum_(hn::Zero(Doubles())) {}

  HWY_INLINE void add(Float terms) { part_ = hn::Add(part_, terms); }
  HWY_INLINE void add(Float a, Float b) { part_ = hn::MulAdd(a, b, part_); }
  HWY_INLINE void flush() {
    sum_ = hn::Add(sum_, in_double(part_));
    part_ = hn::Zero(Floats());
  }
  double total() const { return HWY_NAMESPACE::total(sum_); }

 private:
  Float part_;
  Vector sum_;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
