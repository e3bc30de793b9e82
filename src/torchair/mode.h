// What the files of a plan are: data, statistics, or converted values.
#pragma once

#include "torchair/plan.h"
#include "torchair/row.h"

namespace msprobe::torchair {

// Statistics where any file is one, or was converted to minimum and maximum; else real data, to
// which a user's own values of another number belong too: they are compared as vectors.
Mode find_mode(const Plan& plan);

}  // namespace msprobe::torchair
