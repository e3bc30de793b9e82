// SPDX-License-Identifier: Apache-2.0
// The rows of a comparison of two dumps as a run of the report: an entry is a call, its items are
// the rows, and calls are grouped by the module they ran in.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "divergence_search.h"
#include "dump/call_sites.h"
#include "dump/construct_json.h"
#include "dump_compare/compare_dumps.h"
#include "dump_compare/inputs.h"
#include "dump_compare/item_row.h"
#include "report/report_data.h"

namespace msprobe::dump_compare {

class DumpCompareReport {
 public:
  DumpCompareReport(const DumpPair& pair, const CompareStart& start,
                    const std::string& target_as_given);

  // In the order of the target dump.
  void add(const EntryRows& rows);
  bool is_of(std::int64_t step, int rank) const { return pair_.step == step && pair_.rank == rank; }
  // `entry`: the target's call where the two runs diverge; `text` says why.
  void set_first_divergence(const std::string& entry, std::string text);

  // What is known once both runs have been read: which calls introduce a difference and which
  // inherit one, who reads from whom, and which module is part of which.
  void complete(const DivergenceSearch& search);

  const report::ReportRun& run() const { return run_; }

 private:
  void set_roles(const DivergenceSearch& search);
  void set_edges(const DivergenceSearch::Flow& flow);
  void set_group_parents();

  report::ReportRun run_;
  std::shared_ptr<const dump::ConstructIndex> modules_;
  std::optional<dump::CallSites> sites_;  // where construct.json is empty, as at level L1
  std::map<std::string, std::string, std::less<>> module_calls_;  // of each module, the first one
  DumpPair pair_;
  DataMode mode_;
};

}  // namespace msprobe::dump_compare
