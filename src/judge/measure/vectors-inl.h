// SPDX-License-Identifier: Apache-2.0
// The words the vector kernels share. Included once per vector target.
//
// No kernel uses CopySign, Or3, Xor3, OrAnd or IfVecThenElse: on AVX-512 they are one instruction,
// vpternlog, and clang (LLVM issue 157929) gives it the truth table of other operands where it
// is merged under a mask with an operand in memory. tests/vector_code.py looks for such code.
#if defined(MSPROBE_MEASURE_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_VECTORS_INL_H_
#undef MSPROBE_MEASURE_VECTORS_INL_H_
#else
#define MSPROBE_MEASURE_VECTORS_INL_H_
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "measure/chunks.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class V>
HWY_INLINE auto is_nan(V value) {
  return hn::Not(hn::Eq(value, value));  // Ne is false for NaN on some machines
}

using Doubles = hn::ScalableTag<double>;
using Floats = hn::ScalableTag<float>;
using Singles = hn::Half<Floats>;  // as many as Doubles
using Signed = hn::RebindToSigned<Doubles>;
using Vector = hn::Vec<Doubles>;
using Float = hn::Vec<Floats>;
using Integers = hn::Vec<Signed>;
using Mask = hn::Mask<Doubles>;

HWY_INLINE Vector set(double value) { return hn::Set(Doubles(), value); }
HWY_INLINE Integers bits(Vector vector) { return hn::BitCast(Signed(), vector); }
HWY_INLINE Vector from_bits(Integers vector) { return hn::BitCast(Doubles(), vector); }
HWY_INLINE double total(Vector sums) { return hn::GetLane(hn::SumOfLanes(Doubles(), sums)); }
HWY_INLINE double maximum(Vector maxima) { return hn::GetLane(hn::MaxOfLanes(Doubles(), maxima)); }

// Half types as they are loaded, from any address.
template <class Tag>
HWY_INLINE hn::Vec<Tag> load_as(Tag floats, const hwy::bfloat16_t* from) {
  return hn::PromoteTo(floats, hn::LoadU(hn::Rebind<hwy::bfloat16_t, Tag>(), from));
}

template <class Tag>
HWY_INLINE hn::Vec<Tag> load_as(Tag floats, const hwy::float16_t* from) {
#if (HWY_ARCH_X86 && HWY_TARGET < HWY_SSE4) || HWY_ARCH_ARM
  return hn::PromoteTo(floats, hn::LoadU(hn::Rebind<hwy::float16_t, Tag>(), from));
#else
  // Without an instruction for it, Highway takes infinity and NaN for numbers. The exponent moves
  // to its place by a multiplication, which normalises subnormals on the way.
  const hn::Rebind<std::uint16_t, Tag> narrow;
  const hn::RebindToUnsigned<Tag> wide;
  const auto all =
      hn::PromoteTo(wide, hn::BitCast(narrow, hn::LoadU(hn::Rebind<hwy::float16_t, Tag>(), from)));
  const auto magnitude = hn::And(all, hn::Set(wide, 0x7fffU));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(all, magnitude));
  const auto finite =
      hn::Mul(hn::BitCast(floats, hn::ShiftLeft<13>(magnitude)), hn::Set(floats, 0x1p112F));
  const auto exponent =
      hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(wide, 0x7bffU)), hn::Set(wide, 0x7f800000U));
  return hn::BitCast(floats, hn::Or(hn::Or(hn::BitCast(wide, finite), exponent), sign));
#endif
}

template <class Tag>
HWY_INLINE hn::Vec<Tag> load_as(Tag floats, const float* from) {
  return hn::LoadU(floats, from);
}

HWY_INLINE Vector load(const double* from) { return hn::LoadU(Doubles(), from); }
template <class Element>
HWY_INLINE Vector load(const Element* from) {
  return hn::PromoteTo(Doubles(), load_as(Singles(), from));
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

// Two counters in one vector: the lower and the upper half of each lane of Tag.
template <class Tag>
class TwoCounters {
 public:
  // Written out, because a constructor that the compiler supplies is not of the vector target.
  TwoCounters() : counts_(hn::Zero(Halves())) {}

  template <class MaskTag>
  HWY_INLINE void add(MaskTag tag, hn::Mask<MaskTag> first, hn::Mask<MaskTag> second) {
    // The lanes of a mask are 0 or -1.
    const auto low = hn::BitCast(Halves(), hn::VecFromMask(tag, first));
    const auto high = hn::BitCast(Halves(), hn::VecFromMask(tag, second));
    counts_ = hn::Sub(counts_, hn::OddEven(high, low));
  }

  HWY_INLINE void add(const TwoCounters& other) { counts_ = hn::Add(counts_, other.counts_); }

  std::uint64_t first() const { return sum(0); }
  std::uint64_t second() const { return sum(1); }

 private:
  using Count = hwy::MakeNarrow<hwy::MakeSigned<hn::TFromD<Tag>>>;
  using Halves = hn::Repartition<Count, Tag>;
  static_assert(kChunk / hn::MaxLanes(Tag()) <= std::numeric_limits<Count>::max(),
                "a chunk fits the counters");

  std::uint64_t sum(std::size_t half) const {
    std::array<Count, hn::MaxLanes(Halves())> counts;
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
