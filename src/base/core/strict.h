// SPDX-License-Identifier: Apache-2.0
// StrictFinding: the second opinion on one output or gradient, beside the documented verdict.
#pragma once

#include <optional>
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
  // The error of the worst element in units of its bound, to three digits: 0 if all are equal, at
  // most 1 within the bound, infinite if an element is not finite on one side only or differs
  // although none may. Empty if the result was not compared with a bound element by element.
  std::optional<double> error_over_bound = {};
  // The terms of the bound of the worst element, some lines of text; empty unless it was asked for.
  std::string explanation = {};
};

}  // namespace msprobe
