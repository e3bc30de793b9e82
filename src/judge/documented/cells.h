// SPDX-License-Identifier: Apache-2.0
// The metric cells of a row: which metric of a standard goes into which column, and in which kind
// of number.
#pragma once

#include "documented/detail_row.h"
#include "documented/judge.h"
#include "documented/profile.h"
#include "documented/standard.h"
#include "measure/metrics.h"

namespace msprobe::documented {

// The kind of number an error of this pair is: double, or what the public tool computes it in.
Cell::Kind error_kind(const OutputPair& pair, Profile profile);

// The 0 of an empty set: profile reference prints it as an integer.
Cell nothing(Profile profile);

// Fills the columns of `standard` and no others: in profile reference api_precision_compare draws
// conclusions from what is blank.
void fill_standard(DetailRow& row, Standard standard, const measure::Metrics& metrics,
                   const OutputPair& pair, Profile profile);

// Profile documented: fills every metric of the pair, whatever step of the ladder decided. The
// cosine is the ladder's; binary consistency is shown for `standard` alone.
void fill_measured(DetailRow& row, Standard standard, const measure::Metrics& metrics,
                   const OutputPair& pair);

// Fills every metric the pair's dtypes have, whatever the standard and however far the ladder goes.
void fill_all(DetailRow& row, const measure::Metrics& metrics, const OutputPair& pair,
              Profile profile);

}  // namespace msprobe::documented
