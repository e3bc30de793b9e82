// SPDX-License-Identifier: Apache-2.0
// The ratio of a device's metric to that of the reference device.
#pragma once

#include "core/dtype.h"
#include "documented/profile.h"

namespace msprobe::final_verdict {

struct Ratio {
  double value = 0;  // NaN where either side is not finite
  enum class Finite : std::uint8_t {
    kBoth,
    kSame,     // neither is finite, and both are alike: nothing speaks against the device
    kDiffers,  // never passes
  } finite = Finite::kBoth;
};

// Documented: plain, with 0 against 0 (or against no more than the epsilon of the dtype) giving 1
// and anything above it giving infinity. Public tool: the divisor is raised to a floor of its
// dtype.
Ratio ratio(double device, double reference_device, DType dtype, documented::Profile profile);

}  // namespace msprobe::final_verdict
