// SPDX-License-Identifier: Apache-2.0
// CompareRow: what the details CSV of api_precision_compare says of one output.
#pragma once

#include <optional>
#include <string>

#include "core/verdict.h"
#include "documented/detail_row.h"

namespace msprobe::final_verdict {

struct CompareRow {
  std::string api_name;  // as in the NPU's details CSV
  // benchmark: the ratio of the device's metric to the reference device's, and its verdict
  documented::Cell small_value_ratio;
  std::optional<Verdict> small_value_verdict;
  documented::Cell rmse_ratio;
  std::optional<Verdict> rmse_verdict;
  documented::Cell max_relative_error_ratio;
  std::optional<Verdict> max_relative_error_verdict;
  documented::Cell mean_relative_error_ratio;
  std::optional<Verdict> mean_relative_error_verdict;
  documented::Cell error_balance_ratio;
  std::optional<Verdict> error_balance_verdict;
  // absolute threshold
  documented::Cell inf_nan_error_rate;
  std::optional<Verdict> inf_nan_verdict;
  documented::Cell relative_error_rate;
  std::optional<Verdict> relative_error_verdict;
  documented::Cell absolute_error_rate;
  std::optional<Verdict> absolute_error_verdict;
  // binary consistency
  documented::Cell binary_error_rate;
  std::optional<Verdict> binary_verdict;
  // ULP
  documented::Cell mean_ulp_error;
  documented::Cell ulp_error_proportion;
  documented::Cell ulp_error_ratio;
  std::optional<Verdict> ulp_verdict;
  // dual-1000
  documented::Cell dual_1000;
  std::optional<Verdict> dual_1000_verdict;

  Verdict result = Verdict::kSkip;
  std::string algorithm{documented::kBlankText};
  std::string message;
  // Profile documented only.
  std::optional<Verdict> strict_device;
  std::optional<Verdict> strict_reference;
  std::string strict_verdict;  // "device wrong": compare/strict_verdict.h
};

}  // namespace msprobe::final_verdict
