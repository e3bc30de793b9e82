// SPDX-License-Identifier: Apache-2.0
// What dump.json says of a tensor's values: extremes, mean and norm, from one pass over its memory.
#pragma once

#include <cstdint>
#include <string>

#include "collect/strided_view.h"

namespace msprobe::collect {

// A statistic as it is written: absent (null), a bool, an integer or a number.
struct RecordedStatistic {
  enum class Kind : std::uint8_t { kNull, kBool, kSigned, kUnsigned, kReal };
  Kind kind = Kind::kNull;
  double real = 0;
  std::int64_t integer = 0;  // of kSigned and kBool; the bits of kUnsigned
};

struct Statistics {
  RecordedStatistic max, min, mean, norm;
  // Extremes of the finite elements (of the elements that are numbers where none is finite); only
  // where max or min is not finite.
  RecordedStatistic max_finite, min_finite;
};

// The two frameworks' dumps differ in what they say of integers, float64 and complex numbers.
enum class StatisticsRule : std::uint8_t { kPyTorch, kMindSpore };

// bool: any and all; float16, bfloat16, float32: summed in double, mean and norm rounded to the
// dtype; NaN makes every statistic NaN. A tensor without dimensions has its value four times. An
// empty tensor and 8-bit floats have none.
// PyTorch: integers exact, without mean and norm; float64: extremes only; complex: of the modulus,
// no norm. MindSpore: integers and float64 rounded to float32 first; complex: of the modulus; all
// four.
Statistics statistics_of(const StridedView& view, StatisticsRule rule = StatisticsRule::kPyTorch);

// Whether a tensor holds an infinity or NaN, or (float16, bfloat16, float32) the largest finite
// number of its dtype, at which saturating hardware stops.
bool overflows(const Statistics& statistics, DType dtype);

}  // namespace msprobe::collect
