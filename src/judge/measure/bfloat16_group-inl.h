// SPDX-License-Identifier: Apache-2.0
// A group of pairs of bfloat16, measured in one loop. Included once per vector target.
//
// bfloat16 has 8 bits of a number, so neighbours differ by 1/256 of it at least: every difference
// is beyond a thousandth. Relative errors below 0.49 are fractions k / 2m with m < 256 and k < 251.
// Two that are not equal differ by more than 2^-16 of themselves, and the only one near 1/200 is
// 1/200 itself. So floats tell where an error stands, and none is divided unless it may be the
// largest.
#if defined(MSPROBE_MEASURE_BFLOAT16_GROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_BFLOAT16_GROUP_INL_H_
#undef MSPROBE_MEASURE_BFLOAT16_GROUP_INL_H_
#else
#define MSPROBE_MEASURE_BFLOAT16_GROUP_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "measure/float_group-inl.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

template <class Device, class Bench>
constexpr bool kAreBFloat16 =
    std::is_same_v<Device, hwy::bfloat16_t> && std::is_same_v<Bench, hwy::bfloat16_t>;

// What a relative error has to exceed to be larger than `highest`, the largest so far. Errors that
// are equal to a `highest` below 0.49 do not; those near a higher one may.
inline float bfloat16_bound(double highest) {
  constexpr double kLargest = 0x1p100;
  return static_cast<float>((highest < 0.49 ? 1 + 0x1p-20 : 1 - 0x1p-20) *
                            (highest < kLargest ? highest : kLargest));
}

class BFloat16Group {
 public:
  BFloat16Group()
      : dot(hn::Zero(Floats())),
        error_squares(hn::Zero(Floats())),
        error_sum(hn::Zero(Floats())),
        max_error(hn::Zero(Floats())),
        device_squares(hn::Zero(Floats())),
        bench_squares(hn::Zero(Floats())),
        device_bits_(hn::Zero(Bits())),
        bench_bits_(hn::Zero(Bits())),
        differing_(hn::Zero(Bits())),
        beyond_200_(hn::Zero(Bits())),
        above_(hn::Gt(hn::Zero(Floats()), hn::Zero(Floats()))) {}

  // kFloatVectors vectors. False: something in them that the other way has to look at.
  HWY_INLINE bool add(const hwy::bfloat16_t* device, const hwy::bfloat16_t* bench, float bound) {
    const std::size_t lanes = 2 * hn::Lanes(Floats());
    const Float bounds = hn::Set(Floats(), bound);
    for (std::size_t i = 0; i < kFloatVectors / 2; ++i) {
      const hn::Vec<Bits> d = load_pairs(device + i * lanes);
      const hn::Vec<Bits> b = load_pairs(bench + i * lanes);
      add(hn::ShiftLeft<16>(d), hn::ShiftLeft<16>(b), bounds);
      const auto upper = hn::Set(Bits(), 0xffff0000U);
      add(hn::And(d, upper), hn::And(b, upper), bounds);
    }
    const auto kept = hn::And(keeps_squares(error_squares, max_error),
                              hn::And(keeps_squares(device_squares, magnitude_of(device_bits_)),
                                      keeps_squares(bench_squares, magnitude_of(bench_bits_))));
    return hn::AllTrue(Floats(), kept) && hn::AllFalse(Floats(), above_) && !nearest_.is_tiny();
  }

  std::uint64_t count_1000() const { return sum(differing_); }
  std::uint64_t count_200() const { return sum(beyond_200_); }

  Float dot, error_squares, error_sum, max_error, device_squares, bench_squares;

 private:
  using Bits = hn::RebindToUnsigned<Floats>;

  HWY_INLINE static hn::Vec<Bits> load_pairs(const hwy::bfloat16_t* from) {
    const hn::Repartition<std::uint16_t, Floats> halves;
    return hn::BitCast(Bits(), hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(from)));
  }

  // 0 only where all bits but the sign are.
  HWY_INLINE static Float magnitude_of(hn::Vec<Bits> bits) {
    return hn::Abs(hn::BitCast(Floats(), bits));
  }

  HWY_INLINE void add(hn::Vec<Bits> device_bits, hn::Vec<Bits> bench_bits, Float bounds) {
    const Float d = hn::BitCast(Floats(), device_bits);
    const Float b = hn::BitCast(Floats(), bench_bits);
    const Float error = hn::Abs(hn::Sub(d, b));
    const Float magnitude = hn::Abs(b);
    dot = hn::MulAdd(d, b, dot);
    error_squares = hn::MulAdd(error, error, error_squares);
    error_sum = hn::Add(error_sum, error);
    max_error = hn::Max(max_error, error);
    device_squares = hn::MulAdd(d, d, device_squares);
    bench_squares = hn::MulAdd(b, b, bench_squares);
    device_bits_ = hn::Or(device_bits_, device_bits);
    bench_bits_ = hn::Or(bench_bits_, bench_bits);
    nearest_.add(magnitude);
    // A little more than 200: 1/200 itself is beyond the threshold.
    const Float scaled = hn::Mul(error, hn::Set(Floats(), 200.0001F));
    count(differing_, hn::Gt(error, hn::Zero(Floats())));
    count(beyond_200_, hn::Gt(scaled, magnitude));
    above_ = hn::Or(above_, hn::Gt(error, hn::Mul(magnitude, bounds)));
  }

  // The lanes of a mask are 0 or -1.
  HWY_INLINE static void count(hn::Vec<Bits>& counts, hn::Mask<Floats> which) {
    counts = hn::Sub(counts, hn::BitCast(Bits(), hn::VecFromMask(Floats(), which)));
  }
  static std::uint64_t sum(hn::Vec<Bits> counts) {
    return hn::GetLane(hn::SumOfLanes(Bits(), counts));
  }

  hn::Vec<Bits> device_bits_, bench_bits_;  // all of them, one over the other
  hn::Vec<Bits> differing_, beyond_200_;
  hn::Mask<Floats> above_;
  Nearest nearest_;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
