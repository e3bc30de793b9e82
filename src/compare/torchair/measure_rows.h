// SPDX-License-Identifier: Apache-2.0
// Fills the numbers of paired rows, as the mode needs them.
#pragma once

#include "torchair/tensor_row.h"

namespace msprobe::torchair {

struct OpMeasureOptions {
  GraphMode mode = GraphMode::kReal;
  int threads = 1;      // for one tensor
  bool places = false;  // of every largest error, not of those that matter only
};

// All rows of one operator. What cannot be read after all makes its row unreadable.
void measure_op(OpRows& op, const OpMeasureOptions& options, DumpFiles& files);

}  // namespace msprobe::torchair
