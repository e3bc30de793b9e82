// SPDX-License-Identifier: Apache-2.0
// The structure of a call, without its values: two calls of one API with equal structure are
// repeats of each other for -f.
#pragma once

#include "core/stable_hash.h"
#include "dump/call_record.h"

namespace msprobe::check {

// Covers arguments, keywords (whatever their order) and the gradients that arrive; leaves out every
// value statistic and file name (Max, Min, Mean, Norm, their finite forms, md5, data_name) at any
// depth, and what the call put out.
Hash128 structure_hash(const dump::CallRecord& call);

}  // namespace msprobe::check
