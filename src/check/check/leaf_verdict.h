// SPDX-License-Identifier: Apache-2.0
// The row of one output or gradient by the rules of PyTorch's check.
#pragma once

#include "documented/judge.h"
#include "protocol/measured_call.h"

namespace msprobe::check {

documented::DetailRow judge_leaf(const protocol::MeasuredLeaf& leaf,
                                 const documented::Context& context);

}  // namespace msprobe::check
