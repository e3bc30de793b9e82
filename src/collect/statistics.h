// What dump.json says of a tensor's values: extremes, mean and norm, from one pass over its memory.
#pragma once

#include <cstdint>
#include <string>

#include "collect/strided_view.h"

namespace msprobe::collect {

// A statistic as it is written: absent (null), a bool, an integer or a number.
struct Statistic {
  enum class Kind : std::uint8_t { kNull, kBool, kSigned, kUnsigned, kReal };
  Kind kind = Kind::kNull;
  double real = 0;
  std::int64_t integer = 0;  // of kSigned and kBool; the bits of kUnsigned
};

struct Statistics {
  Statistic max, min, mean, norm;
  // Extremes of the finite elements (of the elements that are numbers where none is finite); only
  // where max or min is not finite.
  Statistic max_finite, min_finite;
};

// bool: any and all; integers: exact, without mean and norm; float16, bfloat16, float32: summed in
// double, mean and norm rounded to the dtype; float64: extremes only; complex: of the modulus, no
// norm. NaN makes every statistic NaN. A tensor without dimensions has its value four times. An
// empty tensor and 8-bit floats have none.
Statistics statistics_of(const StridedView& view);

// Whether a tensor holds an infinity or NaN, or (float16, bfloat16, float32) the largest finite
// number of its dtype, at which saturating hardware stops.
bool overflows(const Statistics& statistics, DType dtype);

}  // namespace msprobe::collect
