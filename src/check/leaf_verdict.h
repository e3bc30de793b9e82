// SPDX-License-Identifier: Apache-2.0
// The row of one output or gradient by the rules of PyTorch's check.
#pragma once

#include "judge/judge.h"
#include "protocol/measured_call.h"

namespace msprobe::check {

judge::DetailRow judge_leaf(const protocol::MeasuredLeaf& leaf, const judge::Context& context);

}  // namespace msprobe::check
