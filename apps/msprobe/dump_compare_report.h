// The rows of a comparison of two dumps as a run of the report: an entry is a call, its items are
// the rows, and calls are grouped by the module they ran in.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "dump_compare/inputs.h"
#include "dump_compare/row.h"
#include "report/report_data.h"

namespace msprobe::app {

class DumpCompareReport {
 public:
  DumpCompareReport(const dump_compare::DumpPair& pair, dump_compare::Mode mode);

  // In the order of the target dump.
  void add(const dump_compare::EntryRows& rows);
  bool is_of(std::int64_t step, int rank) const { return step_ == step && rank_ == rank; }
  std::int64_t step() const { return step_; }
  std::int64_t rank() const { return rank_; }
  // `entry`: the target's call where the two runs part; `text` says why.
  void set_first_divergence(const std::string& entry, std::string text);

  // Says of the calls that differ whether they introduce the difference or inherit it.
  void set_roles(const std::function<std::string_view(std::string_view entry)>& role_of);

  const report::ReportRun& run() const { return run_; }

 private:
  report::ReportRun run_;
  dump_compare::Mode mode_;
  std::int64_t step_;
  std::int64_t rank_;
};

}  // namespace msprobe::app
