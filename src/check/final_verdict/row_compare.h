// SPDX-License-Identifier: Apache-2.0
// Judges one row of the NPU's details CSV, skips it with a reason, or leaves it out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "documented/detail_row.h"
#include "final_verdict/compare_row.h"
#include "final_verdict/details_name.h"
#include "final_verdict/gpu_index.h"
#include "final_verdict/row_verdict.h"

namespace msprobe::final_verdict {

enum class RowFate : std::uint8_t {
  kJudged,          // a verdict, or SKIP because of what the NPU's row says
  kNotSame,         // SKIP: dtype or shape differ between the two rows
  kNoGpuMetric,     // SKIP: the GPU's row lacks what the standard needs
  kNoGpuRow,        // SKIP; profile reference: the row is not shown
  kRepeatedGpuRow,  // SKIP; profile reference: the comparison stops here
  kCannotBeJudged,  // SKIP: damaged row, no metric of any standard
};

struct ComparedRow {
  CompareRow row;
  RowFate fate = RowFate::kJudged;
  bool unsupported_dtype = false;  // float64, complex
};

// `gpu` is null if the GPU's CSV has no such row; `problem` says why the NPU's row cannot be
// trusted, if so.
ComparedRow compare_row(const documented::DetailRow& npu, const DetailsName& name,
                        std::string_view problem, const GpuRow* gpu, const CompareRules& rules);

// A row that says only why there is no verdict.
CompareRow skip_row(std::string_view name, std::string_view message);

}  // namespace msprobe::final_verdict
