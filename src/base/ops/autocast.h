// SPDX-License-Identifier: Apache-2.0
// How a recorded call shows that it ran under autocast.
#pragma once

#include <optional>
#include <set>

#include "core/dtype.h"

namespace msprobe::ops {

// The half type that autocast cast to; nothing without autocast. It leaves no mark in a dump but
// this: an output of another dtype than the inputs have, or inputs that do not go together.
// `inputs`: which of float16, bfloat16 and float32 the arguments have; `output`: the dtype of the
// first recorded output, if it is a floating one.
std::optional<DType> autocast_of(const std::set<DType>& inputs, std::optional<DType> output);

}  // namespace msprobe::ops
