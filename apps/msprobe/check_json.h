// SPDX-License-Identifier: Apache-2.0
// The summary of a check as JSON, with every call that does not pass.
#pragma once

#include <span>
#include <string>

#include "check/run_check.h"
#include "core/fail_on.h"
#include "exit_status.h"
#include "report/report_data.h"

namespace msprobe::app {

struct CheckSummary {
  const std::string& place;  // "step1/rank0" of one of several
  const check::CheckOutcome& outcome;
  ExitStatus status;
  FailOn fail_on;
  const report::ReportRun& run;
};

std::string check_json(const CheckSummary& summary);

// Of several dumps: {"exit_status": 1, "checks": [...]}.
std::string checks_json(std::span<const CheckSummary> summaries, ExitStatus status);

}  // namespace msprobe::app
