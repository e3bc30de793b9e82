// SPDX-License-Identifier: Apache-2.0
// Several dumps of one training, answered as one: the same kernel is usually wrong in all of them.
#pragma once

#include <vector>

#include "report/answer.h"
#include "report/report_data.h"

namespace msprobe::report {

struct Overall {
  ReportRun run;  // the calls of all dumps, one dump after the other
  Answer answer;  // of these; its cards know in how many dumps they are
};

Overall overall_of(const std::vector<const ReportRun*>& runs);

}  // namespace msprobe::report
