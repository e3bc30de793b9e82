// The words the vector kernels share. Included once per vector target.
#if defined(MSPROBE_MEASURE_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_VECTORS_INL_H_
#undef MSPROBE_MEASURE_VECTORS_INL_H_
#else
#define MSPROBE_MEASURE_VECTORS_INL_H_
#endif

#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "measure/chunks.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Singles = hn::Rebind<float, Doubles>;
using Signed = hn::RebindToSigned<Doubles>;
using Vector = hn::Vec<Doubles>;
using Integers = hn::Vec<Signed>;
using Mask = hn::Mask<Doubles>;

HWY_INLINE Vector set(double value) { return hn::Set(Doubles(), value); }
HWY_INLINE Integers bits(Vector vector) { return hn::BitCast(Signed(), vector); }
HWY_INLINE Vector from_bits(Integers vector) { return hn::BitCast(Doubles(), vector); }
HWY_INLINE double total(Vector sums) { return hn::GetLane(hn::SumOfLanes(Doubles(), sums)); }
HWY_INLINE double maximum(Vector maxima) { return hn::GetLane(hn::MaxOfLanes(Doubles(), maxima)); }

HWY_INLINE hn::Vec<Singles> to_singles(hn::Vec<hn::Rebind<hwy::bfloat16_t, Singles>> halves) {
  return hn::PromoteTo(Singles(), halves);
}

HWY_INLINE hn::Vec<Singles> to_singles(hn::Vec<hn::Rebind<hwy::float16_t, Singles>> halves) {
#if (HWY_ARCH_X86 && HWY_TARGET < HWY_SSE4) || HWY_ARCH_ARM
  return hn::PromoteTo(Singles(), halves);
#else
  // Without an instruction for it, Highway takes infinity and NaN for numbers. The exponent moves
  // to its place by a multiplication, which normalises subnormals on the way.
  const hn::Rebind<std::uint16_t, Singles> narrow;
  const hn::RebindToUnsigned<Singles> wide;
  const auto all = hn::PromoteTo(wide, hn::BitCast(narrow, halves));
  const auto magnitude = hn::And(all, hn::Set(wide, 0x7fffU));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(all, magnitude));
  const auto finite =
      hn::Mul(hn::BitCast(Singles(), hn::ShiftLeft<13>(magnitude)), hn::Set(Singles(), 0x1p112F));
  const auto exponent =
      hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(wide, 0x7bffU)), hn::Set(wide, 0x7f800000U));
  return hn::BitCast(Singles(), hn::Or(hn::Or(hn::BitCast(wide, finite), exponent), sign));
#endif
}

// Elements at any address, as doubles: half types are widened as they are loaded.
HWY_INLINE Vector load(const double* from) { return hn::LoadU(Doubles(), from); }
HWY_INLINE Vector load(const float* from) {
  return hn::PromoteTo(Doubles(), hn::LoadU(Singles(), from));
}
template <class Half>
HWY_INLINE Vector load(const Half* from) {
  return hn::PromoteTo(Doubles(), to_singles(hn::LoadU(hn::Rebind<Half, Singles>(), from)));
}

// 2^floor(log2|value|) for normal values; 0 for 0 and subnormals.
HWY_INLINE Vector power_of_two_below(Vector magnitude) {
  return hn::And(magnitude, from_bits(hn::Set(Signed(), 0x7ff0'0000'0000'0000)));
}

// See round_to(). `power` is power_of_two_below(), but at least the smallest normal number.
HWY_INLINE Vector round_bench(Vector bench, Vector power, Vector rounding) {
  const Vector shift = hn::Mul(power, rounding);
  return hn::Sub(hn::Add(bench, shift), shift);
}

// The bits of a double 2^e subtracted from this are the bits of 2^(mantissa_bits - e).
inline std::int64_t ulp_scale(int mantissa_bits) {
  return static_cast<std::int64_t>(2046 + mantissa_bits) << 52;
}

HWY_INLINE Vector ulp_error(Vector error, Vector power, Integers scale) {
  return hn::Mul(error, from_bits(hn::Sub(scale, bits(power))));
}

// Two counters in one vector: the lower and the upper half of each lane.
class TwoCounters {
 public:
  // Written out, because a constructor that the compiler supplies is not of the vector target.
  TwoCounters() : counts_(hn::Zero(Halves())) {}

  HWY_INLINE void add(Mask first, Mask second) {
    add(hn::VecFromMask(Doubles(), first), hn::VecFromMask(Doubles(), second));
  }
  HWY_INLINE void add(hn::Mask<Signed> first, hn::Mask<Signed> second) {
    add(hn::VecFromMask(Signed(), first), hn::VecFromMask(Signed(), second));
  }

  std::uint64_t first() const { return sum(0); }
  std::uint64_t second() const { return sum(1); }

 private:
  using Halves = hn::Repartition<std::int32_t, Doubles>;
  static_assert(kChunk < (std::size_t{1} << 31), "a chunk fits the counters");

  // The lanes of a mask are 0 or -1.
  template <class V>
  HWY_INLINE void add(V first, V second) {
    counts_ =
        hn::Sub(counts_, hn::OddEven(hn::BitCast(Halves(), second), hn::BitCast(Halves(), first)));
  }

  std::uint64_t sum(std::size_t half) const {
    std::array<std::int32_t, hn::MaxLanes(Halves())> counts;
    hn::StoreU(counts_, Halves(), counts.data());
    std::uint64_t sum = 0;
    for (std::size_t i = half; i < counts.size(); i += 2) {
      sum += static_cast<std::uint64_t>(counts[i]);
    }
    return sum;
  }

  hn::Vec<Halves> counts_;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
