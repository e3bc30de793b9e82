// SPDX-License-Identifier: Apache-2.0
// Which elements of a pair are too far apart, for a person who has to find them.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace msprobe::metrics {

// |device - bench| <= relative * |bench| where |bench| > small_value, else <= absolute.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double small_value = 0;
  bool is_sum = false;  // <= absolute + relative * |bench| everywhere, for integers too
};

// What the documented absolute thresholds allow a result of this dtype.
Tolerance tolerance_of(DType device);

struct Beyond {
  std::uint64_t count = 0;     // elements beyond the tolerance, or not finite on one side only
  std::int64_t worst_at = -1;  // flat index of the farthest of them; -1: there is none
  double device = 0;           // at that index; of complex numbers the modulus
  double bench = 0;
  double error = 0;  // |device - bench| there
  double over =
      0;           // error / tolerance there; infinite where the tolerance is 0 or it is not finite
  double ulp = 0;  // error in units in the last place of bench in the device's dtype; 0: none
};

// A plain loop: it runs where something is wrong already. Equal values, NaN at the same place
// included, are never beyond. REQUIRES: equal element counts.
Beyond find_beyond(const TensorView& device, const TensorView& bench, const Tolerance& tolerance);

}  // namespace msprobe::metrics
