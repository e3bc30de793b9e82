// SPDX-License-Identifier: Apache-2.0
// The shortest way through the kernel. Included once per vector target.
#if defined(MSPROBE_MEASURE_SAME_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_SAME_VECTORS_INL_H_
#undef MSPROBE_MEASURE_SAME_VECTORS_INL_H_
#else
#define MSPROBE_MEASURE_SAME_VECTORS_INL_H_
#endif

#include "measure/tensor_pair.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

// Finite elements that are the same on both sides, as those of an operator that only moves numbers:
// they have no error, and count as small or normal.
template <class Traits>
class SameVectors {
 public:
  explicit SameVectors(const TensorPair& pair)
      : overflow_(set(pair.format.device.overflow)),
        small_value_(set(pair.thresholds.small_value)) {}

  // Adds the elements if they all are such; the first that is not ends it, and nothing is added.
  // REQUIRES: `count` is a multiple of the lanes, and at most kChunk.
  template <class Device, class Bench>
  HWY_INLINE bool add(const Device* device, const Bench* bench, std::size_t count) {
    Vector squares = set(0);
    Integers small = hn::Zero(Signed());
    for (std::size_t i = 0; i < count; i += hn::Lanes(Doubles())) {
      const Vector value = load(bench + i);
      const Vector magnitude = hn::Abs(value);
      const Mask same = hn::And(hn::Eq(load(device + i), value), hn::Lt(magnitude, overflow_));
      if (!hn::AllTrue(Doubles(), same)) return false;
      squares = hn::MulAdd(value, value, squares);
      const Mask is_small = hn::Le(magnitude, small_value_);
      small = hn::Sub(small, bits(hn::VecFromMask(Doubles(), is_small)));
    }
    squares_ = hn::Add(squares_, squares);
    small_ = hn::Add(small_, small);
    count_ += count;
    return true;
  }

  // What was found in the elements added.
  Tally tally() const {
    Tally tally;
    if (count_ == 0) return tally;
    tally.count = count_;
    tally.max_abs_error = 0;
    if (Traits::kUlp) tally.max_ulp_error = 0;
    const double squares = total(squares_);
    tally.products = {
        .dot = squares, .dot_imaginary = 0, .device_squares = squares, .bench_squares = squares};
    tally.within_100 = count_;
    tally.within_1000 = count_;
    tally.within_10000 = count_;
    tally.small = static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(Signed(), small_)));
    tally.normal = count_ - tally.small;
    return tally;
  }

 private:
  Vector overflow_;
  Vector small_value_;

  Vector squares_ = set(0);
  Integers small_ = hn::Zero(Signed());
  std::uint64_t count_ = 0;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
