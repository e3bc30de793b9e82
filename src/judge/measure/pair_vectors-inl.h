// SPDX-License-Identifier: Apache-2.0
// What the similarity kernel keeps of a pair of tensors, in vectors of doubles. Pairs of half types
// and float32 are summed in floats first: a product is rounded once there, and each float sums
// kFloatVectors of them at most, which costs no sum more than (kFloatVectors + 1) * 2^-24 of the
// sum of magnitudes. Counts and maxima stay exact: what floats cannot tell is looked at in doubles.
// Included once per vector target.
#if defined(MSPROBE_MEASURE_PAIR_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_PAIR_VECTORS_INL_H_
#undef MSPROBE_MEASURE_PAIR_VECTORS_INL_H_
#else
#define MSPROBE_MEASURE_PAIR_VECTORS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "measure/bfloat16_group-inl.h"
#include "measure/float_group-inl.h"
#include "measure/quotients-inl.h"
#include "measure/similarity.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

template <RelativeRule kRule>
class PairVectors {
 public:
  PairVectors()
      : dot_(set(0)),
        error_squares_(set(0)),
        error_sum_(set(0)),
        max_error_(set(0)),
        relative_(set(0)),
        bound_(set(0)) {}

  // False, with nothing added, where an element (or a difference) is not finite.
  HWY_INLINE bool add(Vector device, Vector bench) {
    const Vector error = hn::Abs(hn::Sub(device, bench));
    const Vector magnitude = hn::Abs(bench);
    const Mask finite = hn::Lt(error, set(std::numeric_limits<double>::infinity()));
    if (HWY_UNLIKELY(!hn::AllTrue(Doubles(), finite))) return false;
    if constexpr (kRule == RelativeRule::kPlain) {
      // Below the bound a relative error is neither the largest nor near a threshold.
      const Mask open = hn::Gt(error, hn::Mul(magnitude, bound_));
      if (!hn::AllFalse(Doubles(), open)) add_open(error, magnitude);
    } else {
      count_relative(quotient_of(device, bench));
    }
    count_ += hn::Lanes(Doubles());
    dot_ = hn::MulAdd(device, bench, dot_);
    error_squares_ = hn::MulAdd(error, error, error_squares_);
    error_sum_ = hn::Add(error_sum_, error);
    max_error_ = hn::Max(max_error_, error);
    device_.add(device);
    bench_.add(bench);
    return true;
  }

  // kFloatVectors vectors of floats. False, with nothing added, where floats do not do.
  template <class Device, class Bench>
  HWY_INLINE bool add_group(const Device* device, const Bench* bench) {
    if constexpr (kRule == RelativeRule::kEpsilonSingle && kAreBFloat16<Device, Bench>) {
      if (HWY_LIKELY(add_bfloat16(device, bench))) return true;
    }
    const std::size_t lanes = hn::Lanes(Floats());
    SideFloats<kHasSides> of_device;
    SideFloats<kHasSides> of_bench;
    Float dot = hn::Zero(Floats());
    Float error_squares = hn::Zero(Floats());
    Float error_sum = hn::Zero(Floats());
    Float max_error = hn::Zero(Floats());
    Nearest nearest;
    const Float near = hn::Set(Floats(), float_near_);
    std::uint32_t open = 0;  // vectors whose relative errors have to be looked at
    for (std::size_t i = 0; i < kFloatVectors; ++i) {
      const Float d = load_as(Floats(), device + i * lanes);
      const Float b = load_as(Floats(), bench + i * lanes);
      const Float error = hn::Abs(hn::Sub(d, b));
      const Float magnitude = hn::Abs(b);
      const auto is_open = hn::Gt(error, hn::Mul(magnitude, near));
      if (!hn::AllFalse(Floats(), is_open)) open |= std::uint32_t{1} << i;
      if constexpr (!kAreFloat16<Device, Bench>) nearest.add(hn::Max(error, magnitude));
      dot = hn::MulAdd(d, b, dot);
      error_squares = hn::MulAdd(error, error, error_squares);
      error_sum = hn::Add(error_sum, error);
      max_error = hn::Max(max_error, error);
      of_device.add(d);
      of_bench.add(b);
    }
    const auto kept = hn::And(keeps_squares(error_squares, max_error),
                              hn::And(keeps_squares(of_device.squares, of_device.largest()),
                                      keeps_squares(of_bench.squares, of_bench.largest())));
    if (HWY_UNLIKELY(!hn::AllTrue(Floats(), kept))) return false;
    if constexpr (kRule == RelativeRule::kPlain) {
      if (HWY_UNLIKELY(nearest.is_tiny())) return false;
      if (open != 0 && !add_open_vectors(device, bench, open)) return false;
    } else if (HWY_UNLIKELY(nearest.is_tiny())) {
      add_all_quotients(device, bench);
    } else if (open != 0) {
      add_quotients(device, bench, open);
    }
    raise_max_error(device, bench, hn::GetLane(hn::MaxOfLanes(Floats(), max_error)));
    count_ += kFloatVectors * lanes;
    add_floats(dot_, dot);
    add_floats(error_squares_, error_squares);
    add_floats(error_sum_, error_sum);
    of_device.add_to(device_);
    of_bench.add_to(bench_);
    return true;
  }

  SimilarityTally tally() const {
    SimilarityTally tally;
    tally.count = tally.finite = count_;
    tally.dot = total(dot_);
    tally.error_squares = total(error_squares_);
    tally.error_sum = total(error_sum_);
    tally.max_abs_error = maximum(max_error_);
    tally.max_relative_error = maximum(relative_);
    tally.beyond_1000 = beyond_1000_;
    tally.beyond_200 = beyond_200_;
    tally.device_squares = total(device_.squares);
    tally.bench_squares = total(bench_.squares);
    if constexpr (kHasSides) {
      tally.device = device_.tally(count_);
      tally.bench = bench_.tally(count_);
    }
    return tally;
  }

 private:
  static constexpr bool kHasSides = kRule == RelativeRule::kPlain;

  HWY_INLINE void add_open(Vector error, Vector magnitude) {
    const Vector relative = relative_error(error, magnitude);
    beyond_1000_ += hn::CountTrue(Doubles(), hn::Ge(relative, set(0.001)));
    beyond_200_ += hn::CountTrue(Doubles(), hn::Ge(relative, set(0.005)));
    relative_ = hn::Max(relative_, relative);
    if (highest_ < kBelowThresholds) raise_bounds();
  }

  // Most groups of bfloat16. False, with nothing added, where they take the way of all floats.
  HWY_INLINE bool add_bfloat16(const hwy::bfloat16_t* device, const hwy::bfloat16_t* bench) {
    BFloat16Group group;
    if (HWY_UNLIKELY(!group.add(device, bench, bfloat16_bound_))) return false;
    raise_max_error(device, bench, hn::GetLane(hn::MaxOfLanes(Floats(), group.max_error)));
    count_ += kFloatVectors * hn::Lanes(Floats());
    beyond_1000_ += group.count_1000();
    beyond_200_ += group.count_200();
    add_floats(dot_, group.dot);
    add_floats(error_squares_, group.error_squares);
    add_floats(error_sum_, group.error_sum);
    add_floats(device_.squares, group.device_squares);
    add_floats(bench_.squares, group.bench_squares);
    return true;
  }

  // `largest` is the largest error of a group, rounded to a float. Where that may hide one larger
  // than those before, it is found in doubles.
  template <class Device, class Bench>
  HWY_INLINE void raise_max_error(const Device* device, const Bench* bench, float largest) {
    if (largest == 0 || largest < static_cast<float>(maximum(max_error_))) return;
    // Multiples of 2^-24, as all differences of float16 are, are floats below 1; so are differences
    // of floats within a factor of 2 (Sterbenz).
    const bool is_exact = (kAreFloat16<Device, Bench> && largest < 1) || highest_ < 0.49;
    if (is_exact) {
      max_error_ = hn::Max(max_error_, set(largest));
      return;
    }
    const std::size_t count = kFloatVectors * hn::Lanes(Floats());
    for (std::size_t i = 0; i < count; i += hn::Lanes(Doubles())) {
      const Vector error = hn::Abs(hn::Sub(load(device + i), load(bench + i)));
      max_error_ = hn::Max(max_error_, error);
    }
  }

  // The relative errors of vectors of a group. False, with nothing added, where floats do not tell.
  template <class Device, class Bench>
  HWY_INLINE bool add_open_vectors(const Device* device, const Bench* bench, std::uint32_t open) {
    const Float bound = hn::Set(Floats(), float_bound_);
    BeyondThresholds beyond;
    std::uint32_t largest = 0;  // vectors that may have the largest
    for (; open != 0; open &= open - 1) {
      const int i = std::countr_zero(open);
      const std::size_t at = static_cast<std::size_t>(i) * hn::Lanes(Floats());
      const Float b = load_as(Floats(), bench + at);
      const Float error = hn::Abs(hn::Sub(load_as(Floats(), device + at), b));
      const Float magnitude = hn::Abs(b);
      beyond.add(error, magnitude);
      const auto may_be_largest = hn::Gt(error, hn::Mul(magnitude, bound));
      if (!hn::AllFalse(Floats(), may_be_largest)) largest |= std::uint32_t{1} << i;
    }
    if (HWY_UNLIKELY(beyond.is_doubtful())) return false;
    beyond_1000_ += beyond.count_1000();
    beyond_200_ += beyond.count_200();
    for (; largest != 0; largest &= largest - 1) {
      const std::size_t at =
          static_cast<std::size_t>(std::countr_zero(largest)) * hn::Lanes(Floats());
      add_largest(device + at, bench + at);
    }
    return true;
  }

  // The relative errors of vectors of a group, by a rule with an epsilon. A division takes as long
  // as the rest of an element: it is only done where it may round to a threshold, where the error
  // may be the largest, and where the reference is 0.
  template <class Device, class Bench>
  HWY_INLINE void add_quotients(const Device* device, const Bench* bench, std::uint32_t open) {
    const std::size_t lanes = hn::Lanes(Floats());
    const Float bound = hn::Set(Floats(), float_bound_);
    BeyondThresholds beyond;
    std::uint32_t divided = 0;
    for (; open != 0; open &= open - 1) {
      const int i = std::countr_zero(open);
      const std::size_t at = static_cast<std::size_t>(i) * lanes;
      const Float b = load_as(Floats(), bench + at);
      const Float error = hn::Abs(hn::Sub(load_as(Floats(), device + at), b));
      const Float magnitude = hn::Abs(b);
      // Of a reference of 0 every error but 0 is above the bound, which is finite.
      const auto is_above = hn::Gt(error, hn::Mul(magnitude, bound));
      const auto is_doubtful = beyond.count(error, magnitude);
      const bool is_divided = !hn::AllFalse(Floats(), hn::Or(is_above, is_doubtful));
      divided |= std::uint32_t{is_divided} << i;
    }
    if (divided != 0) {
      Quotients quotients;
      for (; divided != 0; divided &= divided - 1) {
        const std::size_t at = static_cast<std::size_t>(std::countr_zero(divided)) * lanes;
        const Float d = load_as(Floats(), device + at);
        const Float b = load_as(Floats(), bench + at);
        beyond.take_back(hn::Abs(hn::Sub(d, b)), hn::Abs(b));
        quotients.add(d, b);
      }
      add(quotients);
    }
    beyond_1000_ += beyond.count_1000();
    beyond_200_ += beyond.count_200();
  }

  // The same with every relative error divided.
  template <class Device, class Bench>
  HWY_INLINE void add_all_quotients(const Device* device, const Bench* bench) {
    Quotients quotients;
    for (std::size_t i = 0; i < kFloatVectors; ++i) {
      const std::size_t at = i * hn::Lanes(Floats());
      quotients.add(load_as(Floats(), device + at), load_as(Floats(), bench + at));
    }
    add(quotients);
  }

  // The relative errors of a vector of floats, of which only the largest is not known.
  template <class Device, class Bench>
  HWY_INLINE void add_largest(const Device* device, const Bench* bench) {
    for (std::size_t i = 0; i < hn::Lanes(Floats()); i += hn::Lanes(Doubles())) {
      const Vector b = load(bench + i);
      relative_ =
          hn::Max(relative_, relative_error(hn::Abs(hn::Sub(load(device + i), b)), hn::Abs(b)));
    }
    raise_bounds();
  }

  HWY_INLINE static Vector relative_error(Vector error, Vector magnitude) {
    return hn::IfThenZeroElse(hn::Eq(error, set(0)), hn::Div(error, magnitude));
  }

  HWY_INLINE static Vector quotient_of(Vector device, Vector bench) {
    if constexpr (kRule == RelativeRule::kEpsilonDouble)
      return quotient_in(Doubles(), device, bench);
    // What is widened here was a float before.
    return hn::PromoteTo(Doubles(), quotient_in(Singles(), hn::DemoteTo(Singles(), device),
                                                hn::DemoteTo(Singles(), bench)));
  }

  HWY_INLINE void count_relative(Vector relative) {
    constexpr bool kInSingle = kRule == RelativeRule::kEpsilonSingle;
    beyond_1000_ += hn::CountTrue(Doubles(), hn::Ge(relative, set(kInSingle ? 0.001F : 0.001)));
    beyond_200_ += hn::CountTrue(Doubles(), hn::Ge(relative, set(kInSingle ? 0.005F : 0.005)));
    relative_ = hn::Max(relative_, relative);
  }

  HWY_INLINE void add(const Quotients& quotients) {
    beyond_1000_ += quotients.count_1000();
    beyond_200_ += quotients.count_200();
    const Float largest = quotients.largest();
    relative_ = hn::Max(relative_, hn::Max(lower_doubles(largest), upper_doubles(largest)));
    raise_bounds();
  }

  HWY_INLINE void raise_bounds() {
    highest_ = maximum(relative_);
    const double near = std::min(highest_, kBelowThresholds);
    bound_ = set(near * (1 - 0x1p-50));
    float_near_ = static_cast<float>(near * (1 - 0x1p-20));
    float_bound_ = static_cast<float>(std::min(highest_, 0x1p100) * (1 - 0x1p-20));
    bfloat16_bound_ = bfloat16_bound(highest_);
  }

  // Rounding of the product does not reach a threshold from here.
  static constexpr double kBelowThresholds = 0.001 * (1 - 0x1p-48);

  Vector dot_;
  Vector error_squares_;
  Vector error_sum_;
  Vector max_error_;
  Vector relative_;
  Vector bound_;
  double highest_ = 0;
  // So much below `bound_` and `highest_` that rounding in floats does not matter.
  float float_near_ = 0;
  float float_bound_ = 0;
  float bfloat16_bound_ = 0;
  SideVectors<kHasSides> device_;
  SideVectors<kHasSides> bench_;
  std::uint64_t count_ = 0;
  std::uint64_t beyond_1000_ = 0;
  std::uint64_t beyond_200_ = 0;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
