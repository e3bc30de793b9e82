// SPDX-License-Identifier: Apache-2.0
// StrictFinding: the second opinion on one output or gradient, beside the documented verdict.
#pragma once

#include <string>

#include "core/verdict.h"

namespace msprobe {

struct StrictFinding {
  Verdict status = Verdict::kSkip;
  std::string reason;  // what was compared with what, and by how much it failed; never empty
  std::string cause;   // what fits the pattern of the error; empty if nothing does
  // Where the error is, as a JSON object (strict/error_map.h); empty if no element is beyond a
  // bound.
  std::string map = {};
};

}  // namespace msprobe
