// SPDX-License-Identifier: Apache-2.0
// The vector kernel of integers and bools of one dtype: what integers.cc does for one element.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/vector_targets.h"
#include "measure/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "measure/integer_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET == HWY_SCALAR

// A machine without vectors has the plain loops.
namespace msprobe::measure::HWY_NAMESPACE {
namespace {

Tally tally_integer_with_target(const TensorPair& pair, std::size_t first, std::size_t count) {
  return tally_integer(pair, first, count);
}

Tally tally_reference_integer_with_target(const TensorPair& pair, std::size_t first,
                                          std::size_t count) {
  return tally_reference_integer(pair, first, count);
}

}  // namespace
}  // namespace msprobe::measure::HWY_NAMESPACE

#else

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class Tag>
std::array<hn::TFromD<Tag>, hn::MaxLanes(Tag())> lanes_of(Tag tag, hn::Vec<Tag> vector) {
  std::array<hn::TFromD<Tag>, hn::MaxLanes(Tag())> lanes;
  hn::StoreU(vector, tag, lanes.data());
  return lanes;
}

// The smallest and the largest of many numbers.
template <class T>
class Range {
 public:
  Range() : lowest_(hn::Zero(Tag())), highest_(hn::Zero(Tag())) {}

  HWY_INLINE void add(hn::Vec<hn::ScalableTag<T> > values) {
    if (std::is_signed_v<T>) lowest_ = hn::Min(lowest_, values);
    highest_ = hn::Max(highest_, values);
  }

  double abs_max() const {
    double largest = 0;
    for (const T value : lanes_of(Tag(), lowest_)) largest = std::max(largest, magnitude(value));
    for (const T value : lanes_of(Tag(), highest_)) largest = std::max(largest, magnitude(value));
    return largest;
  }

 private:
  using Tag = hn::ScalableTag<T>;

  static double magnitude(T value) { return std::abs(static_cast<double>(value)); }

  hn::Vec<Tag> lowest_;
  hn::Vec<Tag> highest_;
};

// The largest distance of two numbers, exact in the unsigned type of their width.
template <class T>
class Distance {
 public:
  Distance() : largest_(hn::Zero(Tag())) {}

  HWY_INLINE void add(hn::Vec<hn::ScalableTag<T> > device, hn::Vec<hn::ScalableTag<T> > bench) {
    const auto high = hn::BitCast(Tag(), hn::Max(device, bench));
    const auto low = hn::BitCast(Tag(), hn::Min(device, bench));
    largest_ = hn::Max(largest_, hn::Sub(high, low));
  }

  double value() const {
    const auto lanes = lanes_of(Tag(), largest_);
    return static_cast<double>(*std::ranges::max_element(lanes));
  }

 private:
  using Tag = hn::ScalableTag<std::make_unsigned_t<T> >;

  hn::Vec<Tag> largest_;
};

// The same in reference arithmetic: the difference wraps around, and so does the magnitude of the
// lowest number.
template <class T>
class WrappedDistance {
 public:
  WrappedDistance() : largest_(hn::Set(Tag(), std::numeric_limits<T>::min())) {}

  HWY_INLINE void add(hn::Vec<hn::ScalableTag<T> > device, hn::Vec<hn::ScalableTag<T> > bench) {
    const auto difference = hn::Sub(device, bench);
    if constexpr (std::is_signed_v<T>) {
      const auto negated = hn::Sub(hn::Zero(Tag()), difference);
      largest_ = hn::Max(largest_, hn::Max(difference, negated));
    } else {
      largest_ = hn::Max(largest_, difference);
    }
  }

  double value() const {
    const auto lanes = lanes_of(Tag(), largest_);
    return static_cast<double>(*std::ranges::max_element(lanes));
  }

 private:
  using Tag = hn::ScalableTag<T>;

  hn::Vec<Tag> largest_;
};

// Most pairs of integers are equal throughout, so equal vectors take a shorter way.
template <class T, template <class> class Error, bool is_bool>
Tally tally_equal_types(const TensorPair& pair, std::size_t first, std::size_t count,
                        TallyFunction plain) {
  const hn::ScalableTag<T> tag;
  const auto* device = reinterpret_cast<const T*>(pair.device.bytes.data()) + first;
  const auto* bench = reinterpret_cast<const T*>(pair.bench.bytes.data()) + first;
  const auto load = [tag](const T* from) HWY_ATTR {
    const auto elements = hn::LoadU(tag, from);
    if constexpr (is_bool) return hn::Min(elements, hn::Set(tag, T{1}));
    return elements;
  };
  Range<T> both;
  Range<T> device_only;
  Range<T> bench_only;
  Error<T> error;
  Tally tally;
  bool some_equal = false;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto d = load(device + i);
    const auto b = load(bench + i);
    const auto equal = hn::Eq(d, b);
    if (HWY_LIKELY(hn::AllTrue(tag, equal))) {
      both.add(d);
      some_equal = true;
    } else {
      device_only.add(d);
      bench_only.add(b);
      error.add(d, b);
      tally.different += lanes - hn::CountTrue(tag, equal);
    }
  }
  tally.count = i;
  if (tally.different > 0) tally.max_abs_error = error.value();
  if (some_equal) tally.max_abs_error = std::max(tally.max_abs_error, 0.0);
  tally.device_abs_max = std::max(both.abs_max(), device_only.abs_max());
  tally.bench_abs_max = std::max(both.abs_max(), bench_only.abs_max());
  if (i < count) merge(tally, plain(pair, first + i, count - i));
  return tally;
}

template <template <class> class Error>
Tally tally_with(const TensorPair& pair, std::size_t first, std::size_t count,
                 TallyFunction plain) {
  switch (pair.device.dtype) {
    case DType::kBool:
      return tally_equal_types<std::uint8_t, Error, true>(pair, first, count, plain);
    case DType::kUInt8:
      return tally_equal_types<std::uint8_t, Error, false>(pair, first, count, plain);
    case DType::kUInt16:
      return tally_equal_types<std::uint16_t, Error, false>(pair, first, count, plain);
    case DType::kUInt32:
      return tally_equal_types<std::uint32_t, Error, false>(pair, first, count, plain);
    case DType::kUInt64:
      return tally_equal_types<std::uint64_t, Error, false>(pair, first, count, plain);
    case DType::kInt8:
      return tally_equal_types<std::int8_t, Error, false>(pair, first, count, plain);
    case DType::kInt16:
      return tally_equal_types<std::int16_t, Error, false>(pair, first, count, plain);
    case DType::kInt32:
      return tally_equal_types<std::int32_t, Error, false>(pair, first, count, plain);
    default:
      return tally_equal_types<std::int64_t, Error, false>(pair, first, count, plain);
  }
}

Tally tally_integer_with_target(const TensorPair& pair, std::size_t first, std::size_t count) {
  return tally_with<Distance>(pair, first, count, &tally_integer);
}

Tally tally_reference_integer_with_target(const TensorPair& pair, std::size_t first,
                                          std::size_t count) {
  return tally_with<WrappedDistance>(pair, first, count, &tally_reference_integer);
}

}  // namespace
}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR

#if HWY_ONCE
namespace msprobe::measure {

HWY_EXPORT(tally_integer_with_target);
HWY_EXPORT(tally_reference_integer_with_target);

Tally tally_integer_in_vectors(const TensorPair& pair, std::size_t first, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(tally_integer_with_target)(pair, first, count);
}

Tally tally_reference_integer_in_vectors(const TensorPair& pair, std::size_t first,
                                         std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(tally_reference_integer_with_target)(pair, first, count);
}

}  // namespace msprobe::measure
#endif
