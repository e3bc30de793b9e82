// SPDX-License-Identifier: Apache-2.0
// What the similarity kernel keeps of one side, and of a few vectors of floats at a time. Included
// once per vector target.
#if defined(MSPROBE_MEASURE_FLOAT_GROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_FLOAT_GROUP_INL_H_
#undef MSPROBE_MEASURE_FLOAT_GROUP_INL_H_
#else
#define MSPROBE_MEASURE_FLOAT_GROUP_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "measure/similarity.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

// Sums and extremes of finite elements; without kWhole, the squares alone.
template <bool kWhole>
struct SideVectors {
  Vector max = set(-std::numeric_limits<double>::infinity());
  Vector min = set(std::numeric_limits<double>::infinity());
  Vector sum = set(0);
  Vector squares = set(0);

  SideVectors() {}  // written out: a supplied one is not of the vector target

  HWY_INLINE void add(Vector value) {
    squares = hn::MulAdd(value, value, squares);
    if constexpr (kWhole) {
      max = hn::Max(max, value);
      min = hn::Min(min, value);
      sum = hn::Add(sum, value);
    }
  }

  SideTally tally(std::uint64_t count) const {
    SideTally side;
    side.count = count;
    if (count == 0) return side;
    side.max = maximum(max);
    side.min = hn::GetLane(hn::MinOfLanes(Doubles(), min));
    side.sum = total(sum);
    side.squares = total(squares);
    return side;
  }
};

HWY_INLINE Vector lower_doubles(Float floats) {
  return hn::PromoteTo(Doubles(), hn::LowerHalf(Singles(), floats));
}
HWY_INLINE Vector upper_doubles(Float floats) {
  return hn::PromoteTo(Doubles(), hn::UpperHalf(Singles(), floats));
}

// Adds the lanes of a vector of floats to those of a vector of doubles.
HWY_INLINE void add_floats(Vector& sum, Float floats) {
  sum = hn::Add(sum, hn::Add(lower_doubles(floats), upper_doubles(floats)));
}

// As SideVectors, of the few elements of a group. Without kWhole, `max` is that of the magnitudes.
template <bool kWhole>
struct SideFloats {
  Float max = hn::Set(Floats(), kWhole ? -std::numeric_limits<float>::infinity() : 0);
  Float min = hn::Set(Floats(), std::numeric_limits<float>::infinity());
  Float sum = hn::Zero(Floats());
  Float squares = hn::Zero(Floats());

  SideFloats() {}

  HWY_INLINE void add(Float value) {
    squares = hn::MulAdd(value, value, squares);
    max = hn::Max(max, kWhole ? value : hn::Abs(value));
    if constexpr (kWhole) {
      min = hn::Min(min, value);
      sum = hn::Add(sum, value);
    }
  }

  HWY_INLINE Float largest() const { return kWhole ? hn::Max(max, hn::Neg(min)) : max; }

  HWY_INLINE void add_to(SideVectors<kWhole>& side) const {
    add_floats(side.squares, squares);
    if constexpr (kWhole) {
      side.max = hn::Max(side.max, hn::Max(lower_doubles(max), upper_doubles(max)));
      side.min = hn::Min(side.min, hn::Min(lower_doubles(min), upper_doubles(min)));
      add_floats(side.sum, sum);
    }
  }
};

constexpr std::size_t kFloatVectors = 32;  // of a group

template <class Device, class Bench>
constexpr bool kAreFloat16 =
    std::is_same_v<Device, hwy::float16_t> && std::is_same_v<Bench, hwy::float16_t>;

// Pairs that are summed in floats: all but those with float64.
template <class Device, class Bench>
constexpr bool kAreGrouped = sizeof(Device) <= 4 && sizeof(Bench) <= 4;

// Whether squares that were summed in floats are neither beyond their range nor lost below it, in
// every lane. `largest` is the largest number that was squared; it does not tell of a NaN, which a
// maximum may pass over.
HWY_INLINE hn::Mask<Floats> keeps_squares(Float squares, Float largest) {
  const auto is_large =
      hn::Or(hn::Ge(squares, hn::Set(Floats(), 0x1p-110F)), hn::Eq(largest, hn::Zero(Floats())));
  return hn::And(is_large, hn::Lt(squares, hn::Set(Floats(), 0x1p110F)));
}

// Counts the elements of a group whose relative error is not below a threshold.
class BeyondThresholds {
 public:
  BeyondThresholds()
      : counts_1000_(hn::Zero(Counts())),
        counts_200_(hn::Zero(Counts())),
        doubtful_(hn::Gt(hn::Zero(Floats()), hn::Zero(Floats()))) {}

  HWY_INLINE void add(Float error, Float magnitude) {
    doubtful_ = hn::Or(doubtful_, count(error, magnitude));
  }

  // Counts a vector and says which elements are so near a threshold that floats do not tell.
  HWY_INLINE hn::Mask<Floats> count(Float error, Float magnitude) {
    const Float excess_1000 = excess(error, 1000, magnitude);
    const Float excess_200 = excess(error, 200, magnitude);
    counts_1000_ = hn::Sub(counts_1000_, ones(excess_1000));
    counts_200_ = hn::Sub(counts_200_, ones(excess_200));
    return hn::Lt(hn::Min(hn::Abs(excess_1000), hn::Abs(excess_200)),
                  hn::Mul(magnitude, hn::Set(Floats(), 0x1p-20F)));
  }

  // Undoes the count of a vector.
  HWY_INLINE void take_back(Float error, Float magnitude) {
    counts_1000_ = hn::Add(counts_1000_, ones(excess(error, 1000, magnitude)));
    counts_200_ = hn::Add(counts_200_, ones(excess(error, 200, magnitude)));
  }

  // Whether an element that was added is such a one.
  bool is_doubtful() const { return !hn::AllFalse(Floats(), doubtful_); }
  std::uint64_t count_1000() const { return sum(counts_1000_); }
  std::uint64_t count_200() const { return sum(counts_200_); }

 private:
  using Counts = hn::RebindToSigned<Floats>;

  HWY_INLINE static Float excess(Float error, float factor, Float magnitude) {
    return hn::MulSub(error, hn::Set(Floats(), factor), magnitude);
  }

  // -1 where the error is beyond the threshold.
  HWY_INLINE static hn::Vec<Counts> ones(Float excess) {
    const auto is_beyond = hn::Gt(excess, hn::Zero(Floats()));
    return hn::BitCast(Counts(), hn::VecFromMask(Floats(), is_beyond));
  }

  static std::uint64_t sum(hn::Vec<Counts> counts) {
    return static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(Counts(), counts)));
  }

  hn::Vec<Counts> counts_1000_;
  hn::Vec<Counts> counts_200_;
  hn::Mask<Floats> doubtful_;
};

// The number of a group that is nearest to 0, but not 0: where it is too small, products of it that
// are compared are not precise in floats.
class Nearest {
 public:
  Nearest() : smallest_(hn::Set(Bits(), ~std::uint32_t{0})) {}

  // Bits of positive floats are in their order; 0 becomes the largest.
  HWY_INLINE void add(Float magnitude) {
    const auto below = hn::Sub(hn::BitCast(Bits(), magnitude), hn::Set(Bits(), 1));
    smallest_ = hn::Min(smallest_, below);
  }

  bool is_tiny() const {
    const auto tiny = hn::Set(Bits(), std::bit_cast<std::uint32_t>(0x1p-100F));
    return !hn::AllFalse(Bits(), hn::Lt(smallest_, tiny));
  }

 private:
  using Bits = hn::RebindToUnsigned<Floats>;
  hn::Vec<Bits> smallest_;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
