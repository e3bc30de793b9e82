// SPDX-License-Identifier: Apache-2.0
// The rows of a graph-mode comparison as a run of the report: an operator is a call, its tensors
// are the rows, and the first difference is named.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "report/report_data.h"
#include "torchair/graph_compare.h"
#include "torchair/tensor_row.h"

namespace msprobe::torchair {

class GraphReport {
 public:
  explicit GraphReport(const GraphCompareOptions& options);

  // In the order of the graph; `number` is that of GraphCompareEvents::on_op.
  void add(const OpRows& op, std::uint32_t number);
  const report::ReportRun& run() const { return run_; }

 private:
  static constexpr std::uint32_t kNoReportCall = std::numeric_limits<std::uint32_t>::max();
  void add_row(const TensorRow& row, report::ReportCall& call);
  void set_spread(report::ReportCall& call, bool source_differs);

  report::ReportRun run_;
  std::vector<std::uint32_t> calls_of_unit_;  // by number; kNoReportCall: it has no rows
  std::vector<bool> carries_;                 // per call: a difference comes out of it
};

}  // namespace msprobe::torchair
