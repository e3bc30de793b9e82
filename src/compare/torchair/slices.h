// SPDX-License-Identifier: Apache-2.0
// Operators that ran in slices (FFTS+) left several files each: one operator of every execution.
#pragma once

#include <vector>

#include "torchair/ge_files.h"

namespace msprobe::torchair {

// The files of one directory, in order of time, with those of slices put together. What cannot be
// put together is one operator with the reason.
std::vector<GeFile> join_slices(std::vector<GeFile> files);

}  // namespace msprobe::torchair
