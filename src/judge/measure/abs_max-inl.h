// SPDX-License-Identifier: Apache-2.0
// The largest magnitude of many elements as they lie in memory. Included once per vector target.
#if defined(MSPROBE_MEASURE_ABS_MAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MSPROBE_MEASURE_ABS_MAX_INL_H_
#undef MSPROBE_MEASURE_ABS_MAX_INL_H_
#else
#define MSPROBE_MEASURE_ABS_MAX_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "core/float_formats.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {

inline double to_double(std::int64_t bits, double /*tag*/) { return std::bit_cast<double>(bits); }
inline double to_double(std::int32_t bits, float /*tag*/) { return std::bit_cast<float>(bits); }
inline double to_double(std::int16_t bits, hwy::float16_t /*tag*/) {
  return float16_to_float(static_cast<std::uint16_t>(bits));
}
inline double to_double(std::int16_t bits, hwy::bfloat16_t /*tag*/) {
  return bfloat16_to_float(static_cast<std::uint16_t>(bits));
}

// Without their sign, the bits of floating numbers are ordered as integers, NaN above infinity: one
// integer maximum finds the largest magnitude, or a NaN once there is one.
template <class Element>
class AbsMax {
 public:
  AbsMax() : even_(hn::Zero(Tag())), odd_(hn::Zero(Tag())) {}

  HWY_INLINE void add(const Element* elements, std::size_t count) {
    const std::size_t lanes = hn::Lanes(Tag());
    const auto* integers = reinterpret_cast<const Integer*>(elements);
    const auto magnitude = hn::Set(Tag(), kMagnitude);
    std::size_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      even_ = hn::Max(even_, hn::And(hn::LoadU(Tag(), integers + i), magnitude));
      odd_ = hn::Max(odd_, hn::And(hn::LoadU(Tag(), integers + i + lanes), magnitude));
    }
    // As bytes: an element may lie at any address.
    const auto* bytes = reinterpret_cast<const unsigned char*>(elements);
    for (; i < count; ++i) {
      Integer bits;
      std::memcpy(&bits, bytes + i * sizeof(bits), sizeof(bits));
      rest_ = std::max(rest_, static_cast<Integer>(bits & kMagnitude));
    }
  }

  double value() const {
    const Integer bits = std::max(rest_, hn::GetLane(hn::MaxOfLanes(Tag(), hn::Max(even_, odd_))));
    return to_double(bits, Element{});
  }

 private:
  using Integer = hwy::MakeSigned<Element>;
  using Tag = hn::ScalableTag<Integer>;
  static constexpr Integer kMagnitude = std::numeric_limits<Integer>::max();

  hn::Vec<Tag> even_;
  hn::Vec<Tag> odd_;
  Integer rest_ = 0;
};

}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
