// SPDX-License-Identifier: Apache-2.0
// Results whose numbers are codes of 8 bits, judged by codes: in 8 bits a unit is up to half of the
// number, and no bound in units would see anything. And casts from and to such codes, which have
// one right result.
#pragma once

#include <optional>

#include "core/code_formats.h"
#include "strict/call_context.h"

namespace msprobe::codes {

using strict::CallContext;
using strict::Pair;

// Codes of a device beside what they should be: `numbers` before they were rounded, each within
// `allowed` (undefined: exact). All in float64, row-major, of one shape; `device` as uint8.
struct CodePair {
  CodeFormat format;
  at::Tensor device;
  at::Tensor numbers;
  at::Tensor allowed;
  bool signs_count = false;  // +0 and -0 are two codes
};

// A pass if every code is one that a number within its range rounds to. Beyond the range of
// e4m3fn, 448 and NaN are both right, but only one of them in a result; of other formats, what
// PyTorch gives. NaN is right whatever its code is.
StrictFinding judge_codes(const CodePair& pair);

// Nothing: neither a result of codes nor a cast from them.
std::optional<StrictFinding> judge_low_precision(CallContext& context, const Pair& pair);

}  // namespace msprobe::codes
