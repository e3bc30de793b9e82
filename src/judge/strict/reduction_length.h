// SPDX-License-Identifier: Apache-2.0
// How long the sums of a call are, from its arguments.
#pragma once

#include <cstdint>
#include <string_view>

#include "arguments/py_value.h"

namespace msprobe::strict {

// How many terms are summed for one element of a result with `result_numel` elements.
// `forward_numel`: of the call's first output. At least 1.
double reduction_length(std::string_view bare_name, const arguments::PyCall& call,
                        std::int64_t forward_numel, std::int64_t result_numel, bool gradient);

// The longest extent of the floating tensors of a call.
double longest_extent_of(const arguments::PyCall& call);

}  // namespace msprobe::strict
