// SPDX-License-Identifier: Apache-2.0
// The summary that a comparison prints when it ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "torchair/graph_compare.h"
#include "torchair/tensor_row.h"

namespace msprobe::torchair {

// Keeps the first difference and the worst rows while rows go by.
class GraphSummary {
 public:
  void add(const TensorRow& row);
  const std::optional<TensorRow>& first_difference() const { return first_; }

  std::string text(const CompareTotals& totals, GraphMode mode, bool colour) const;

 private:
  std::optional<TensorRow> first_;
  std::vector<TensorRow> worst_;  // worst first
};

}  // namespace msprobe::torchair
