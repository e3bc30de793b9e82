// SPDX-License-Identifier: Apache-2.0
// What --explain shows of a result: every term of the bound of one element, so that a person can
// check the verdict by hand with docs/verdicts.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strict/call_context.h"

namespace msprobe::strict {

struct ExplainedTerm {
  std::string_view formula;
  double coefficient = 0;
  double size = 0;
  double limit = 0;  // what it adds to the bound
};

// The element that uses most of its bound, or is farthest beyond it.
struct Explained {
  std::int64_t place = 0;
  double error = 0;
  double bound = 0;
  double drift = 0;  // what the error may be measured from, beside the benchmark
  std::vector<ExplainedTerm> terms;
};

// REQUIRES: as scan(); there are elements.
Explained explain(const at::Tensor& device, const at::Tensor& bench, const Limits& limits);

// Adds it to the finding, if the user asked for it. `step`: which step of the bound decided. `n`:
// the number of terms; 0: it does not matter.
void add_explanation(const CallContext& context, const Pair& pair, const Limits& limits,
                     std::string_view step, double n, StrictFinding& finding);

}  // namespace msprobe::strict
