// SPDX-License-Identifier: Apache-2.0
// Shapes that PyTorch's Python functions and modules refuse although the operators below them take
// them, some of which read beyond their inputs then: a reduced call must be one that a script can
// make.
#pragma once

#include "dump/call_record.h"

namespace msprobe::shrink {

// False for a normalisation of one value per channel (ValueError in Python), of an API that has
// such a check, and for a recurrent layer whose states and parameters do not fit together.
bool python_accepts(const dump::CallRecord& call);

}  // namespace msprobe::shrink
