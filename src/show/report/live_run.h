// SPDX-License-Identifier: Apache-2.0
// The run of a check that still goes on: calls are added as they are judged. Those that pass are
// only counted, so it stays small.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "documented/detail_row.h"
#include "dump/call_sites.h"
#include "dump/stack_json.h"
#include "report/report_data.h"

namespace msprobe::report {

class LiveRun {
 public:
  // `dump`: call_sites.json, stack.json (or the stack_info of the older recorder) beside it say
  // where calls were made; they are opened when the first call does not pass.
  explicit LiveRun(std::filesystem::path dump) : dump_(std::move(dump)) {}

  // The call as it is kept; null if it passes.
  const ReportCall* add(const documented::ResultRow& result,
                        std::span<const documented::DetailRow> details);

  // Why the places of calls are not known although they were recorded; empty: nothing is wrong.
  const std::string& problem() const { return problem_; }

  ReportRun& run() { return run_; }
  const ReportRun& run() const { return run_; }

 private:
  void open_places();
  void find_place(ReportCall& call);

  std::filesystem::path dump_;
  ReportRun run_;
  bool opened_ = false;
  std::string problem_;
  std::optional<dump::CallSites> sites_;
  std::optional<dump::StackIndex> stacks_;
};

}  // namespace msprobe::report
