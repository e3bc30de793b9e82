// SPDX-License-Identifier: Apache-2.0
// Dropout is random: its output is judged by the share of zeros, not by its values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/tensor.h"
#include "documented/judge.h"

namespace msprobe::documented {

// Whether an API is judged by its zeros. Documented: the dropouts that put a zero in place of what
// they drop. Public tool: every name with "dropout" in it.
bool judged_by_zeros(std::string_view api, Profile profile);

struct DropoutCall {
  std::optional<double> p;  // unknown: the two sides are compared with each other
  double input_zeros = 0;   // share of the input that was 0 before anything was dropped
  std::uint64_t draws = 0;  // independent decisions: elements, or channels; 0: as many as elements
};

// What is counted of one side.
struct DropoutCounts {
  std::uint64_t zeros = 0;
  std::uint64_t nans = 0;
};

// Of the forward output, or of the gradient of the first input. Profile reference: use the status
// only, the public tool writes no row for a dropout.
// REQUIRES: judge_structure left the pair open.
DetailRow judge_dropout(const OutputPair& pair, const DropoutCounts& bench,
                        const DropoutCounts& device, const DropoutCall& call,
                        const Context& context);
// Counts first.
DetailRow judge_dropout(const TensorView& bench, const TensorView& device, const DropoutCall& call,
                        const Context& context);

}  // namespace msprobe::documented
