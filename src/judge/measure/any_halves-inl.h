// SPDX-License-Identifier: Apache-2.0
// The long way through the kernel for half types against float32 or against themselves. Included
// once per vector target.
#if defined(MSPROBE_MEASURE_ANY_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_ANY_HALVES_INL_H_
#undef MSPROBE_MEASURE_ANY_HALVES_INL_H_
#else
#define MSPROBE_MEASURE_ANY_HALVES_INL_H_
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "measure/any_vectors-inl.h"
#include "measure/half_group-inl.h"
#include "measure/halves-inl.h"
#include "measure/tensor_pair.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

// As AnyVectors, in vectors of floats, a group of kFloatSum elements at a time. A group is left to
// AnyVectors as a whole where float leaves something open: on which side of a threshold an element
// is, whether a square overflows, or whether an element is the largest so far. So the maxima of all
// elements are those of AnyVectors.
template <class Traits>
class AnyHalves {
 public:
  explicit AnyHalves(const TensorPair& pair) : any_(pair), limits_(pair) { note_maxima(); }

  // REQUIRES: `count` is a multiple of the lanes.
  template <class Device, class Bench>
  HWY_NOINLINE void add(const Device* device, const Bench* bench, std::size_t count) {
    std::size_t i = 0;
    for (; i + kFloatSum <= count; i += kFloatSum) {
      if (add_group(device + i, bench + i)) continue;
      any_.add(device + i, bench + i, kFloatSum);
      note_maxima();
    }
    if (i < count) any_.add(device + i, bench + i, count - i);
  }

  double max_relative_error() const { return any_.max_relative_error(); }

  // What was found in the elements added.
  Tally tally() const {
    Tally tally = any_.tally();
    const std::uint64_t finite = equal_and_finite_.second();
    const std::uint64_t small = within_10000_and_small_.second();
    tally.count += count_;
    merge(tally.products, {.dot = total(dot_),
                           .device_squares = total(device_squares_),
                           .bench_squares = total(bench_squares_)});
    tally.error_squares += total(error_squares_);
    tally.relative_errors_sum += total(relative_sum_);
    tally.ulp_errors_sum += std::ldexp(total(ulp_sum_), limits_.ulp_shift);
    tally.balance += static_cast<std::int64_t>(above_and_below_.first()) -
                     static_cast<std::int64_t>(above_and_below_.second());
    tally.different += count_ - equal_and_finite_.first();
    tally.within_100 += within_100_and_1000_.first();
    tally.within_1000 += within_100_and_1000_.second();
    tally.within_10000 += within_10000_and_small_.first();
    tally.small += small;
    tally.normal += finite - small;
    tally.not_finite += count_ - finite;
    tally.small_errors += small_errors_.first();
    tally.absolute_small_errors += small_errors_.second();
    tally.ulp_errors += ulp_and_relative_errors_.first();
    tally.relative_errors += ulp_and_relative_errors_.second();
    tally.not_finite_errors += not_finite_errors_;
    return tally;
  }

 private:
  // Groups that go to AnyVectors at once when so many were refused in a row: data whose largest
  // error comes again and again, for example, would be measured twice.
  static constexpr std::size_t kRefusedInARow = 4;
  static constexpr std::size_t kSpared = 60;

  template <class Device, class Bench>
  HWY_INLINE bool add_group(const Device* device, const Bench* bench) {
    if (spared_ > 0) {
      spared_ -= 1;
      return false;
    }
    HalfGroup<Traits> group;
    for (std::size_t i = 0; i < kFloatSum; i += hn::Lanes(Floats())) {
      group.add(limits_, load_as(Floats(), device + i), load_as(Floats(), bench + i));
    }
    if (is_open(group)) {
      refused_ += 1;
      if (refused_ % kRefusedInARow == 0) spared_ = kSpared;
      return false;
    }
    refused_ = 0;
    add(group);
    return true;
  }

  HWY_INLINE bool is_open(const HalfGroup<Traits>& group) const {
    const auto above = [](UnsignedWord found, UnsignedWord limit) {
      return hn::RebindMask(Floats(), hn::Gt(found, limit));
    };
    FloatMask open = hn::Or(group.open, above(group.error_max, largest_error_));
    open = hn::Or(open, above(group.relative_max, largest_relative_));
    open = hn::Or(open, above(group.ulp_max, largest_ulp_));
    open = hn::Or(open, above(unsigned_bits(group.device_squares), highest_product_));
    open = hn::Or(open, above(unsigned_bits(group.bench_squares), highest_product_));
    open = hn::Or(open, above(unsigned_bits(group.error_squares), ordered_bits(kHighestSquares)));
    return !hn::AllFalse(Floats(), open);
  }

  HWY_INLINE void add(const HalfGroup<Traits>& group) {
    count_ += kFloatSum;
    dot_ = hn::Add(dot_, in_double(group.dot));
    device_squares_ = hn::Add(device_squares_, in_double(group.device_squares));
    bench_squares_ = hn::Add(bench_squares_, in_double(group.bench_squares));
    error_squares_ = hn::Add(error_squares_, in_double(group.error_squares));
    relative_sum_ = hn::Add(relative_sum_, in_double(group.relative_sum));
    ulp_sum_ = hn::Add(ulp_sum_, in_double(group.ulp_sum));
    above_and_below_.add(group.above_and_below);
    equal_and_finite_.add(group.equal_and_finite);
    within_100_and_1000_.add(group.within_100_and_1000);
    within_10000_and_small_.add(group.within_10000_and_small);
    small_errors_.add(group.small_errors);
    ulp_and_relative_errors_.add(group.ulp_and_relative_errors);
    not_finite_errors_ += group.not_finite_errors;
  }

  // Groups that stay below what AnyVectors has found need not go there.
  void note_maxima() {
    largest_error_ = ordered_bits(any_.max_abs_error());
    largest_relative_ = ordered_bits(any_.max_relative_error() * (1 - kRelativeDoubt));
    largest_ulp_ = ordered_bits(std::ldexp(any_.max_ulp_error(), -limits_.ulp_shift));
    // Once an element is not finite there is no cosine, and its sums do not matter.
    const CosineSums products = any_.products();
    const bool matter =
        std::isfinite(products.device_squares) && std::isfinite(products.bench_squares);
    highest_product_ = ordered_bits(matter ? kHighestSquares : kNaN);
  }

  // Unsigned integers are ordered as the floats with their bits are, NaN above infinity; what is
  // not a float is rounded down. Nothing is above NaN.
  static UnsignedWord ordered_bits(double value) {
    constexpr std::uint32_t kAboveAll = 0xffff'ffff;
    constexpr auto kInfinite = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity());
    if (std::isnan(value)) return hn::Set(UnsignedWords(), kAboveAll);
    if (value == kInfinity) return hn::Set(UnsignedWords(), kInfinite);
    return unsigned_bits(set_float(value));
  }

  // Sums of squares in float are far from overflow below this.
  static constexpr double kHighestSquares = 0x1p120;

  AnyVectors<Traits> any_;
  HalfLimits limits_;
  std::size_t refused_ = 0;  // groups in a row
  std::size_t spared_ = 0;

  UnsignedWord largest_error_;
  UnsignedWord largest_relative_;
  UnsignedWord largest_ulp_;
  UnsignedWord highest_product_;

  std::uint64_t count_ = 0;
  Vector dot_ = set(0);
  Vector device_squares_ = set(0);
  Vector bench_squares_ = set(0);
  Vector error_squares_ = set(0);
  Vector relative_sum_ = set(0);
  Vector ulp_sum_ = set(0);  // see HalfLimits::ulp_shift
  TwoCounters<Floats> above_and_below_;
  TwoCounters<Floats> equal_and_finite_;
  TwoCounters<Floats> within_100_and_1000_;
  TwoCounters<Floats> within_10000_and_small_;
  TwoCounters<Floats> small_errors_;
  TwoCounters<Floats> ulp_and_relative_errors_;
  std::uint64_t not_finite_errors_ = 0;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
