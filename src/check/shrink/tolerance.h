// SPDX-License-Identifier: Apache-2.0
// The tolerance beyond which a script calls an element wrong.
#pragma once

#include <filesystem>

#include "core/result.h"

namespace msprobe::shrink {

// |found - right| <= relative * |right| + absolute
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// Room for the rounding of the device's dtype, and for half of what the worst element of `device`
// is off beyond that, at most 16 eps of the largest element of `bench`: what msprobe saw is wrong,
// a right device is not. Both are files of tensors.
Result<Tolerance> tolerance_of(const std::filesystem::path& device,
                               const std::filesystem::path& bench);

}  // namespace msprobe::shrink
