// SPDX-License-Identifier: Apache-2.0
// The ladder: the first verdict on a floating output, by cosine, maximum absolute error and the
// dual metrics, in that order.
#pragma once

#include "documented/detail_row.h"
#include "documented/profile.h"
#include "documented/standard.h"
#include "measure/metrics.h"

namespace msprobe::documented {

// Fills the ladder's cells, the status and the message of `row` and stops at the first rung that
// decides: later cells stay blank, which profile documented fills in afterwards. `errors` is the
// kind of cell an error of this pair goes into. REQUIRES: metrics.count > 0.
void climb_ladder(DetailRow& row, const measure::Metrics& metrics, DType device,
                  const LadderLimits& limits, Profile profile, Cell::Kind errors);

}  // namespace msprobe::documented
