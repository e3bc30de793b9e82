// SPDX-License-Identifier: Apache-2.0
// The final verdict on one output: the NPU's row beside the GPU's, by the standard of the API.
#pragma once

#include <string>
#include <string_view>

#include "compare/compare_row.h"
#include "compare/gpu_index.h"
#include "judge/detail_row.h"
#include "judge/profile.h"
#include "judge/standard.h"
#include "tables/column.h"

namespace msprobe::compare {

struct CompareRules {
  judge::Profile profile = judge::Profile::kDocumented;
  tables::Titles titles = tables::Titles::kEnglish;
  const judge::Standards& standards;
};

// Whether the row holds every metric the standard judges by.
bool has_metrics(const judge::DetailRow& npu, judge::Standard standard);

// Fills cells, verdicts, result, algorithm and message of `row`. Blank metrics count as 0.
// REQUIRES: standard is not kNone; standards other than benchmark and ULP: has_metrics(npu,
// standard).
void judge_row(CompareRow& row, judge::Standard standard, const judge::DetailRow& npu,
               const GpuRow& gpu, const judge::Subject& subject, const CompareRules& rules);

}  // namespace msprobe::compare
