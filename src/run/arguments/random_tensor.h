// SPDX-License-Identifier: Apache-2.0
// A tensor drawn from what a record says of it: dtype, shape, range.
#pragma once

#include "arguments/philox.h"
#include "core/skip.h"
#include "dump/call_record.h"
#include "libtorch/aten.h"

namespace msprobe::arguments {

// Uniform between the recorded Min and Max, both of which occur (the first element is Min, the last
// is Max); NaN and infinities occur where they were recorded. Complex: the modulus lies in
// the range, the phase anywhere.
OrSkip<at::Tensor> random_tensor(const dump::TensorRecord& record, Philox random);

}  // namespace msprobe::arguments
