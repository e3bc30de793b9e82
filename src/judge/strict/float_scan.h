// SPDX-License-Identifier: Apache-2.0
// The comparison of scan.h for real numbers of at most 32 bits, in vectors: most of what a check
// compares.
#pragma once

#include <cstddef>
#include <cstdint>

namespace msprobe::strict {

struct FloatSlice {
  const float* device;
  const float* rounded;  // the benchmark in the device's dtype; null: that is float32
  const double* bench;
  const double* spreads;  // null: none
  const double* natives;  // null: none
  const double* drifts;   // null: none
  std::size_t length;
};

// The limit of an element: relative * |bench| + absolute + spread * spreads[i] +
// min(native * natives[i], native_cap) + units * (unit of bench), and at least
// least_relative * |bench| + least_absolute.
struct FloatLimits {
  double relative = 0;
  double absolute = 0;
  double spread = 0;
  double native = 0;
  double native_cap = 0;
  double units = 0;
  double least_relative = 0, least_absolute = 0;
  double eps = 0, least_normal = 0, largest = 0;  // of the device's dtype, with `rounded`
};

// As in Scan.
struct FloatScan {
  std::int64_t differ = 0;
  std::int64_t beyond = 0;
  double worst = 0;
  double worst_inside = 0;
  bool finite = true;  // false: something is not, and the rest of this says nothing
};

// Digit for digit what Scan says. REQUIRES: drifts come with spreads and without natives,
// units with `rounded`.
FloatScan scan_floats(const FloatSlice& slice, const FloatLimits& limits);

}  // namespace msprobe::strict
