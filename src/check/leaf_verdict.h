// The row of one output or gradient by the rules of PyTorch's check.
#pragma once

#include "judge/judge.h"
#include "measure/measured_call.h"

namespace msprobe::check {

judge::DetailRow judge_leaf(const measure::MeasuredLeaf& leaf, const judge::Context& context);

}  // namespace msprobe::check
