// SPDX-License-Identifier: Apache-2.0
// The final verdict on one output: the NPU's row beside the GPU's, by the standard of the API.
#pragma once

#include <string>
#include <string_view>

#include "documented/detail_row.h"
#include "documented/profile.h"
#include "documented/standard.h"
#include "final_verdict/compare_row.h"
#include "final_verdict/gpu_index.h"
#include "tables/column.h"

namespace msprobe::final_verdict {

struct CompareRules {
  documented::Profile profile = documented::Profile::kDocumented;
  tables::Titles titles = tables::Titles::kEnglish;
  const documented::Standards& standards;
};

// Whether the row holds every metric the standard judges by.
bool has_metrics(const documented::DetailRow& npu, documented::Standard standard);

// Fills cells, verdicts, result, algorithm and message of `row`. Blank metrics count as 0.
// REQUIRES: standard is not kNone; standards other than benchmark and ULP: has_metrics(npu,
// standard).
void judge_row(CompareRow& row, documented::Standard standard, const documented::DetailRow& npu,
               const GpuRow& gpu, const documented::Subject& subject, const CompareRules& rules);

}  // namespace msprobe::final_verdict
