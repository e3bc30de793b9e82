// SPDX-License-Identifier: Apache-2.0
// What the files of a plan are: data, statistics, or converted values.
#pragma once

#include "torchair/dump_files.h"
#include "torchair/tensor_row.h"
#include "torchair/unit_plan.h"

namespace msprobe::torchair {

// Statistics where any file is one, or was converted to minimum and maximum; else real data, to
// which a user's own values of another number belong too: they are compared as vectors.
GraphMode find_mode(const UnitPlan& plan, DumpFiles& files);

}  // namespace msprobe::torchair
