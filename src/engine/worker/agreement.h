// SPDX-License-Identifier: Apache-2.0
// Whether two results are the same, element by element. For the replay of dumps that hold what
// Python computed in the same precision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "execute/execute_call.h"

namespace msprobe::worker {

// From best to worst.
enum class Likeness : std::uint8_t {
  kEqual,          // bit for bit; NaN equals NaN
  kClose,          // within 2 ulp: kernels that take another path round otherwise; so does -0 for 0
  kNotComparable,  // for a reason that lies in the API, see why_incomparable()
  kBeyond,         // another value, dtype, shape or kind
};

struct Agreement {
  Likeness likeness = Likeness::kEqual;
  std::string text;  // what is not the same
};

Agreement compare(const execute::LeafPair& pair, std::string_view bare_name);

}  // namespace msprobe::worker
