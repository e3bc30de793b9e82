// SPDX-License-Identifier: Apache-2.0
// Relative errors by a rule with an epsilon (similarity.h), divided as the plain loop does.
// Included once per vector target.
#if defined(MSPROBE_MEASURE_QUOTIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_QUOTIENTS_INL_H_
#undef MSPROBE_MEASURE_QUOTIENTS_INL_H_
#else
#define MSPROBE_MEASURE_QUOTIENTS_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

// |(D - B) / B| by a rule with an epsilon, in the floats or doubles of `tag`.
template <class Tag>
HWY_INLINE hn::Vec<Tag> quotient_in(Tag tag, hn::Vec<Tag> device, hn::Vec<Tag> bench) {
  using T = hn::TFromD<Tag>;
  const auto epsilon = hn::IfThenElseZero(hn::Eq(bench, hn::Zero(tag)),
                                          hn::Set(tag, std::numeric_limits<T>::epsilon()));
  const auto divisor = hn::Add(bench, epsilon);
  return hn::Abs(hn::Div(hn::Sub(hn::Add(device, epsilon), divisor), divisor));
}

// The relative errors of a group, by a rule with an epsilon.
class Quotients {
 public:
  Quotients()
      : counts_1000_(hn::Zero(Counts())),
        counts_200_(hn::Zero(Counts())),
        largest_(hn::Zero(Floats())) {}

  HWY_INLINE void add(Float device, Float bench) {
    const Float relative = quotient_in(Floats(), device, bench);
    count(counts_1000_, hn::Ge(relative, hn::Set(Floats(), 0.001F)));
    count(counts_200_, hn::Ge(relative, hn::Set(Floats(), 0.005F)));
    largest_ = hn::Max(largest_, relative);
  }

  Float largest() const { return largest_; }
  std::uint64_t count_1000() const { return sum(counts_1000_); }
  std::uint64_t count_200() const { return sum(counts_200_); }

 private:
  using Counts = hn::RebindToSigned<Floats>;

  HWY_INLINE static void count(hn::Vec<Counts>& counts, hn::Mask<Floats> beyond) {
    counts = hn::Sub(counts, hn::BitCast(Counts(), hn::VecFromMask(Floats(), beyond)));
  }
  static std::uint64_t sum(hn::Vec<Counts> counts) {
    return static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(Counts(), counts)));
  }

  hn::Vec<Counts> counts_1000_;
  hn::Vec<Counts> counts_200_;
  Float largest_;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
