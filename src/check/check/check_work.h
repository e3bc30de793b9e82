// SPDX-License-Identifier: Apache-2.0
// The calls of a plan as work for engines: requests out, judged rows into the journal.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "check/coverage.h"
#include "check/judged_call.h"
#include "check/plan.h"
#include "check/run_check.h"
#include "dump/dump_json.h"
#include "engines/dispatch.h"
#include "journal/journal.h"
#include "tables/column.h"

namespace msprobe::check {

class CheckWork : public engines::Work {
 public:
  CheckWork(const CheckOptions& options, const dump::DumpIndex& dump, const Plan& plan,
            const JudgeRules& rules, journal::Journal& journal, Coverage& coverage);

  std::optional<double> cost(std::size_t position) override;
  protocol::CallRequest request(std::size_t position, bool save) override;
  bool answered(std::size_t position, const protocol::MeasuredCall& call,
                std::size_t device) override;
  void commit(std::size_t position) override;
  Result<void> flush() override { return journal_.flush(); }
  void say(const std::string& text) override { options_.say(log::Severity::kWarning, text); }
  void show_progress(std::size_t committed) override;

 private:
  struct Answer {
    JudgedCall judged;
    std::size_t device = 0;
  };
  const dump::CallSlice& slice(std::size_t position) const;
  void say_why_skipped(std::string_view full_name, const Skip& skip);
  void write(const JudgedCall& judged, std::size_t device);

  const CheckOptions& options_;
  const dump::DumpIndex& dump_;
  const Plan& plan_;
  const JudgeRules& rules_;
  journal::Journal& journal_;
  Coverage& coverage_;
  tables::CellStyle style_;
  std::string save_directory_;                       // empty: nowhere
  std::unordered_map<std::size_t, Answer> answers_;  // not committed yet: at most the window
  std::size_t shown_skips_ = 0;
  std::string details_text_;  // kept for their memory
  std::string result_text_;
  std::string maps_text_;
};

}  // namespace msprobe::check
