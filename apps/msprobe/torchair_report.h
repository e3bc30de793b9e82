// The rows of a graph-mode comparison as a run of the report: an operator is a call, its tensors
// are the rows, and the first difference is named.
#pragma once

#include "report/report_data.h"
#include "torchair/compare.h"
#include "torchair/row.h"

namespace msprobe::app {

class TorchairReport {
 public:
  explicit TorchairReport(const torchair::CompareOptions& options);

  // In the order of the graph.
  void add(const torchair::Row& row);
  const report::ReportRun& run() const { return run_; }

 private:
  report::ReportCall& call_of(const torchair::Row& row);

  report::ReportRun run_;
};

}  // namespace msprobe::app
